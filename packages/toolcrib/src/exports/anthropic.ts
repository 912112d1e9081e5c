export * from '@toolcrib/core/anthropic'

export * from '@toolcrib/core/agent'

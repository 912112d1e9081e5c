export * from '@toolcrib/core/ai-sdk'

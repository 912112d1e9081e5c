export * from '@toolcrib/core/openai-responses'

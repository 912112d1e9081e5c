export * from '@toolcrib/core/gemini'

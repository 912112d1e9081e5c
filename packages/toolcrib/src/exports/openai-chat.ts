export * from '@toolcrib/core/openai-chat'

export * from '@toolcrib/core/bedrock'

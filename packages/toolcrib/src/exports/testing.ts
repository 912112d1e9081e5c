export * from '@toolcrib/core/testing'

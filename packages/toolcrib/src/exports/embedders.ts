export * from '@toolcrib/embedder'

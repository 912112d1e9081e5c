export * from '@toolcrib/core'
export { exactTokenCounter } from '@toolcrib/embedder/tokens'

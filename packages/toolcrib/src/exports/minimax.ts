export * from '@toolcrib/core/minimax'

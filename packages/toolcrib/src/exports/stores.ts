export * from '@toolcrib/mcp/stores'

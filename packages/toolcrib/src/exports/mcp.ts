export * from '@toolcrib/mcp'

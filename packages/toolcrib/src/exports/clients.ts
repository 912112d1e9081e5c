export * from '@toolcrib/mcp/clients'

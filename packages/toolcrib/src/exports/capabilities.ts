export * from '@toolcrib/mcp/capabilities'

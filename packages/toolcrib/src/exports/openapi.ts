export * from '@toolcrib/mcp/openapi'

export * from '@toolcrib/mcp/redis'

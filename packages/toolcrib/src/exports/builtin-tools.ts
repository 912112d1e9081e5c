export * from '@toolcrib/mcp/builtin-tools'

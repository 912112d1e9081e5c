export * from '@toolcrib/mcp/agent-files'

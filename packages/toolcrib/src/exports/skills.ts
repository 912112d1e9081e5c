export * from '@toolcrib/mcp/skills'

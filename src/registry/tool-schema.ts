import type { ToolDefinition } from '../tool.ts'
import type { Entry } from './entry.ts'

/** A tool as the registry lists it for people and pages: with where it is from. */
export interface ToolSchema extends ToolDefinition {
  readonly source: 'builtin' | 'plugin' | 'mcp'
  readonly mcpServer?: string
  readonly pluginId?: string
}

export function toolSchema({ definition, source }: Entry): ToolSchema {
  return {
    ...definition,
    source: source.kind,
    ...(source.kind === 'mcp' ? { mcpServer: source.server } : {}),
    ...(source.kind === 'plugin' ? { pluginId: source.plugin } : {}),
  }
}

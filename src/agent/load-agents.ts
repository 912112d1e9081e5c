import { ToolcribError } from '../errors.ts'
import { type AgentDefinition, parseAgent } from './agent-definition.ts'

/**
 * Reads every `*.md` of a folder as an agent, by file name. A folder that is not there holds none. For Node, Bun and
 * Deno; the loop itself needs no files.
 */
export async function loadAgents(folder: string): Promise<readonly AgentDefinition[]> {
  const { readdir, readFile } = await import('node:fs/promises')
  const { join } = await import('node:path')
  const files = await readdir(folder).catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return []
    throw new ToolcribError(
      'config-invalid',
      `the folder ${folder} cannot be read; check its path and rights`,
      { cause },
    )
  })
  const agents: AgentDefinition[] = []
  for (const file of files.filter((name) => name.endsWith('.md')).sort()) {
    const path = join(folder, file)
    agents.push(parseAgent(await readFile(path, 'utf8'), path))
  }
  return agents
}

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { type AgentDefinition, parseAgent } from '@toolcrib/core/agent'

/**
 * `toolcrib/agent-files`: reads every `*.md` file of a folder as an agent, in the order of the file names. Returns an
 * empty list if the folder does not exist. Throws `config-invalid` for a folder or a file that cannot be read. For
 * Node, Bun and Deno: `toolcrib/agent` itself needs no file system.
 */
export async function loadAgents(folder: string): Promise<readonly AgentDefinition[]> {
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

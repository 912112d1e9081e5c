import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { configDirectory } from '@toolcrib/mcp'
import { findWithFlags } from '../servers/with-registry.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The config that clients use: that of the flag, else the user's own, else the project's. */
export async function clientConfig(
  terminal: Terminal,
  { config }: { readonly config?: string },
): Promise<string> {
  const { env, cwd } = terminal
  if (config !== undefined) {
    const path = resolve(cwd, config)
    // Throws if it does not exist, as in every command.
    if (!existsSync(path)) await findWithFlags(terminal, { config })
    return path
  }
  const folder = configDirectory(env)
  const own = folder === undefined ? undefined : join(folder, 'toolcrib.toml')
  if (own !== undefined && existsSync(own)) return own
  const { config: found } = await findWithFlags(terminal, {})
  const file = found.files.at(-1)
  if (file !== undefined) return file
  throw new ToolcribError('config-invalid', 'no config found; write one with "toolcrib import --user"')
}

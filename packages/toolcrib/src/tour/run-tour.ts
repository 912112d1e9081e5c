import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { findConfig, stateDirectory } from '@toolcrib/mcp'
import { makeFolder } from '@toolcrib/mcp/stores'
import { runServe } from '../serve/run-serve.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Serves the user's servers or, if there are none, two to try, and opens the page, whose guide does the rest. */
export async function runTour(terminal: Terminal, { json }: { readonly json?: boolean }): Promise<number> {
  const { cwd, env } = terminal
  const found = await findConfig({ cwd, env, optional: true })
  const shared = {
    host: '127.0.0.1',
    port: 0,
    open: true,
    brief: true,
    ...(json === undefined ? {} : { json }),
  }
  if (Object.keys(found.config.servers).length > 0) return runServe(terminal, shared)
  terminal.note('you have no servers yet, so this takes two to try from the npm registry')
  return runServe(terminal, { ...shared, config: await demoConfig(terminal) })
}

async function demoConfig({ env }: Terminal): Promise<string> {
  const folder = stateDirectory(env)
  if (folder === undefined) throw new ToolcribError('config-invalid', 'there is no state folder; set HOME')
  await makeFolder(folder, { mode: 0o700 })
  const path = join(folder, 'tour.toml')
  const packages = ['everything', 'memory'].map((name) => [name, `@modelcontextprotocol/server-${name}`])
  const tables = packages.map(
    ([name, from]) => `[server.${name}]\ncommand = "npx"\nargs = ["-y", "${from}"]\n`,
  )
  await writeFile(path, tables.join('\n'))
  return path
}

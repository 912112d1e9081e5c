import { ToolcribError } from 'toolcrib'
import { ServersFile } from 'toolcrib/clients'
import { readConfig } from 'toolcrib/mcp'
import { unapprovedServers } from '../ask-servers.ts'
import { type EditFlags, editableFiles, finishEdit } from '../edit-servers.ts'
import { requireHttpUrl } from '../require-http-url.ts'
import type { Terminal } from '../terminal.ts'
import { plain, shellWord } from '../text.ts'
import { UsageError } from '../usage-error.ts'
import { findWithFlags } from '../with-registry.ts'

export interface AddFlags extends EditFlags {
  readonly url?: string
  readonly env?: readonly string[]
  readonly header?: readonly string[]
  readonly force?: boolean
}

/** Adds a server to a config. */
export async function runAdd(
  terminal: Terminal,
  name: string,
  [command, ...args]: readonly string[],
  flags: AddFlags,
): Promise<number> {
  const { url, env = [], header = [] } = flags
  if ((command === undefined) === (url === undefined))
    throw new UsageError('give the command that starts the server, after --, or its --url')
  // A variable may contain the address, or part of it.
  if (url !== undefined && !url.includes('${')) requireHttpUrl('--url', url)
  if (url !== undefined && env.length > 0)
    throw new UsageError('--env is for a command; a --url takes --header')
  if (url === undefined && header.length > 0)
    throw new UsageError('--header is for a --url; a command takes --env')
  requireName(name)
  const [path] = await editableFiles(terminal, flags)
  if (path === undefined)
    throw new ToolcribError('config-invalid', 'there is no config folder; pass --config <file>')
  const file = await ServersFile.open(path)
  if (file.servers().has(name) && !flags.force)
    throw new ToolcribError('config-invalid', `${path} has a server "${name}"; replace it with --force`)
  const server = {
    ...(command === undefined ? { url } : { command, ...(args.length > 0 ? { args } : {}) }),
    ...(env.length > 0 ? { env: toTable(env, '--env') } : {}),
    ...(header.length > 0 ? { headers: toTable(header, '--header') } : {}),
  }
  // Throws for a server that no command could use; a variable without a value can be set later.
  readConfig({ server: { [name]: server } }, { env: {} })
  file.add([[name, server]])
  const exitCode = await finishEdit(terminal, [file], flags, {
    outcome: `added ${name}`,
    place: 'to',
    unchanged: `${path} has this server already`,
  })
  if (!flags.dryRun && !flags.json && (await needsApproval(terminal, name, flags)))
    terminal.say(`there is a lockfile: approve the server with "toolcrib approve ${shellWord(name)}"`)
  return exitCode
}

function requireName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}_.-]*$/u.test(name)) return
  throw new UsageError(
    `the name "${plain(name)}" cannot be used: begin with a letter or digit, then use letters, digits, "_", "-" and "."`,
  )
}

/** Whether a lockfile prevents the server from starting. */
async function needsApproval(terminal: Terminal, name: string, { config }: EditFlags): Promise<boolean> {
  const place = config === undefined ? {} : { config }
  const found = await findWithFlags(terminal, place, { lenient: true, optional: true })
  return (
    unapprovedServers(found).has(name) && found.lockfile !== undefined && !found.lockfile.exempt?.has(name)
  )
}

function toTable(pairs: readonly string[], flag: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
      throw new UsageError(`${flag} ${pair} must be name=value`)
    }),
  )
}

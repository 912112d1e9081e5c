import { ToolcribError } from '@toolcrib/core'
import { readConfig } from '@toolcrib/mcp'
import { ServersFile } from '@toolcrib/mcp/clients'
import { type EditFlags, editableFiles, finishEdit } from '../config/edit-servers.ts'
import { unapprovedServers } from '../servers/ask-servers.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, shellWord } from '../terminal/text.ts'
import { requireHttpUrl, UsageError } from '../terminal/usage-error.ts'
import { isRegistryName, OFFICIAL_REGISTRY, readFromRegistry } from './from-registry.ts'

export interface AddFlags extends EditFlags {
  readonly url?: string
  readonly env?: readonly string[]
  readonly header?: readonly string[]
  readonly force?: boolean
  readonly registry?: string
  readonly yes?: boolean
}

/** Adds a server to a config. */
export async function runAdd(
  terminal: Terminal,
  name: string,
  [command, ...args]: readonly string[],
  flags: AddFlags,
): Promise<number> {
  const { url, env = [], header = [] } = flags
  // Unknown flags are meant for the server, but only after its program.
  if (command?.startsWith('-'))
    throw new UsageError(`unknown option '${plain(command)}'; what belongs to the server comes after --`)
  if (command === undefined && url === undefined && isRegistryName(name))
    return addFromRegistry(terminal, name, flags)
  if ((command === undefined) === (url === undefined))
    throw new UsageError('give the command that starts the server, after --, or its --url')
  // A variable may contain the address, or part of it.
  if (url !== undefined && !url.includes('${')) requireHttpUrl('--url', url)
  if (url !== undefined && env.length > 0)
    throw new UsageError('--env is for a command; a --url takes --header')
  if (url === undefined && header.length > 0)
    throw new UsageError('--header is for a --url; a command takes --env')
  requireName(name)
  const server = {
    ...(command === undefined ? { url } : { command, ...(args.length > 0 ? { args } : {}) }),
    ...(env.length > 0 ? { env: toTable(env, '--env') } : {}),
    ...(header.length > 0 ? { headers: toTable(header, '--header') } : {}),
  }
  return addServer(terminal, name, server, flags)
}

/** Shows what a registry has, and adds it if that is wanted. */
async function addFromRegistry(terminal: Terminal, wanted: string, flags: AddFlags): Promise<number> {
  const { registry = OFFICIAL_REGISTRY, yes = false, dryRun = false, json = false } = flags
  requireHttpUrl('--registry', registry)
  const { name, server, variables } = await readFromRegistry(wanted, registry)
  const { command, args, url } = server
  const runs =
    url === undefined
      ? [command, ...(Array.isArray(args) ? args : [])].map(String).map(shellWord).join(' ')
      : String(url)
  terminal.note(`${plain(wanted)} ${url === undefined ? 'runs' : 'is at'}: ${plain(runs)}`)
  if (variables.length > 0) terminal.note(`it needs a value for ${variables.map(plain).join(', ')}`)
  const isWanted =
    yes || dryRun || (!json && terminal.isInteractive && (await confirm(terminal, `Add it as "${name}"?`)))
  if (!isWanted) throw new UsageError('nothing was added; add it with --yes')
  requireName(name)
  return addServer(terminal, name, server, flags)
}

async function addServer(terminal: Terminal, name: string, server: object, flags: AddFlags): Promise<number> {
  const [path] = await editableFiles(terminal, flags)
  if (path === undefined)
    throw new ToolcribError('config-invalid', 'there is no config folder; pass --config <file>')
  const file = await ServersFile.open(path)
  if (file.servers().has(name) && !flags.force)
    throw new ToolcribError('config-invalid', `${path} has a server "${name}"; replace it with --force`)
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

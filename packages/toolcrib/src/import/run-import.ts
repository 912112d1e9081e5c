import { join, resolve } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { configDirectory } from '@toolcrib/mcp'
import {
  type ConnectableClient,
  clientFiles,
  connectableClients,
  type ImportOptions,
  type ImportOutcome,
  importServers,
  type PlannedServer,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { requireClients } from '../clients/client-changes.ts'
import { clientPlace } from '../clients/client-place.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { figure, plain, plural } from '../terminal/text.ts'
import { requireConfigName, UsageError } from '../terminal/usage-error.ts'

export interface ImportFlags {
  readonly to?: string
  readonly user?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** Adds the servers of other programs to a config file. */
export async function runImport(
  terminal: Terminal,
  clients: readonly string[],
  flags: ImportFlags,
): Promise<number> {
  const place = clientPlace(terminal)
  requireClients(clients, clientFiles(place))
  const options = {
    ...place,
    clients,
    target: targetOf(terminal, flags),
    isDry: flags.dryRun === true,
    isReplaced: flags.force === true,
    isOfUser: flags.user === true,
  }
  if (!(await mayWriteSecrets(terminal, options, flags))) {
    terminal.say('nothing was written')
    return 1
  }
  const outcome = await importServers(options)
  const isFound = outcome.files.length > 0
  const connected = isFound ? [] : await connectedClients(terminal)
  if (flags.json) terminal.printJson(outcome)
  else if (isFound) show(terminal, outcome)
  else if (connected.length > 0) showConnected(terminal, connected)
  else showNothingFound(terminal, outcome)
  return connected.length > 0 ? 0 : exitCodeOf(outcome)
}

/** Programs that use the gateway have no servers of their own to import. */
async function connectedClients(terminal: Terminal): Promise<ConnectableClient[]> {
  return (await connectableClients(clientPlace(terminal))).filter(({ isConnected }) => isConnected)
}

function showConnected(terminal: Terminal, clients: readonly ConnectableClient[]): void {
  const places = [...new Set(clients.flatMap(({ gateway }) => gateway ?? []))].join(', ')
  const titles = clients.map(({ title }) => title).join(', ')
  terminal.say(
    `nothing to import: ${titles} ${clients.length === 1 ? 'uses' : 'use'} the gateway (${places})`,
  )
  terminal.say(
    pc.dim('see the servers with "toolcrib list"; add one with "toolcrib add <name> -- <command>"'),
  )
}

/** Secrets in a git repository are soon public, so the user must agree, or pass `--yes`. */
async function mayWriteSecrets(
  terminal: Terminal,
  options: ImportOptions,
  { yes, dryRun, json }: ImportFlags,
): Promise<boolean> {
  if (yes || dryRun) return true
  const { secrets, repository, target } = await importServers({ ...options, isDry: true })
  const count = countSecrets(secrets)
  if (repository === undefined || count === 0) return true
  const what = `${plural(count, 'value that looks like a secret', 'values that look like secrets')} would be written to ${target}, in the git repository ${repository}`
  const step = 'import with --user, outside of the repository, or pass --yes'
  if (json || !terminal.isInteractive) throw new UsageError(`${what}; ${step}`)
  terminal.say(`${pc.yellow('note')} ${what}`)
  terminal.say(pc.dim(`  "toolcrib import --user" writes to your own config instead`))
  return confirm(terminal, 'Write them there?')
}

/** 1 when nothing was found, or when a file could not be read and its servers are missing. */
export function exitCodeOf({ files }: Pick<ImportOutcome, 'files'>): 0 | 1 {
  return files.length === 0 || files.some(({ problem }) => problem !== undefined) ? 1 : 0
}

function targetOf({ env, cwd }: Terminal, { to, user }: ImportFlags): string {
  if (to !== undefined && user) throw new UsageError('give one of --to and --user')
  if (to !== undefined) return resolve(cwd, requireConfigName('--to', to))
  const folder = user ? configDirectory(env) : cwd
  if (folder === undefined)
    throw new ToolcribError('config-invalid', 'there is no config folder; pass --to <file>')
  return join(folder, 'toolcrib.toml')
}

function show(terminal: Terminal, outcome: ImportOutcome): void {
  const { files, target, added, kept, written, replaced } = outcome
  for (const { title, path, servers, problem } of files) {
    terminal.say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    if (problem !== undefined) terminal.say(`  ${pc.red('✗')} ${plain(problem)}`)
    for (const server of servers) terminal.say(`  ${describe(server)}`)
  }
  terminal.say()
  const beside = kept.length > 0 ? `, beside the ${figure(kept.length)} already there` : ''
  const what = `${plural(added.length, 'server')} to ${target}${replaced ? ', replacing the file' : beside}`
  if (added.length === 0) terminal.say(`nothing new for ${target}`)
  else if (written) terminal.say(`${pc.green('added')} ${what}; check with "toolcrib doctor"`)
  else terminal.say(`would add ${what}; run without --dry-run to write it`)
  showValues(terminal, outcome)
}

function showValues(terminal: Terminal, { variables, secrets, written }: ImportOutcome): void {
  for (const { name, servers } of variables)
    terminal.say(`${pc.yellow('set')} ${name}, which ${servers.map(plain).join(', ')} needs`)
  const places = secrets.flatMap((server) => server.places)
  if (!written || places.length === 0) return
  const named = places.filter((place) => /^(?:env|headers)\./.test(place)).length
  const others = places.length - named
  const counts = [
    named > 0 ? plural(named, 'secret in a variable or header', 'secrets in variables or headers') : '',
    others > 0 ? plural(others, 'secret in an argument or URL', 'secrets in arguments or URLs') : '',
  ]
  const copied = counts.filter(Boolean).join(' and ')
  const isOne = places.length === 1
  terminal.say(
    pc.yellow(`${copied} ${isOne ? 'was' : 'were'} copied: keep the file private, or write \${NAME} instead`),
  )
}

function countSecrets(secrets: ImportOutcome['secrets']): number {
  return secrets.reduce((sum, { places }) => sum + places.length, 0)
}

function showNothingFound(terminal: Terminal, { looked, target }: ImportOutcome): void {
  terminal.say('no servers were found in any of these files:')
  // Copied text must not be broken into lines.
  for (const path of looked) terminal.print(pc.dim(`  ${path}`))
  terminal.say(
    `\nTo add one, run "toolcrib add files -- npx -y @modelcontextprotocol/server-filesystem .", or write ${target}:\n\n${MINIMAL_CONFIG}\nthen check it with "toolcrib doctor"`,
  )
}

const MINIMAL_CONFIG = `  [server.files]
  command = "npx"
  args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
`

function describe({ name, outcome, as, reason, leftBehind = [] }: PlannedServer): string {
  const shown = plain(name)
  const left = leftBehind.length === 0 ? '' : pc.yellow(` without ${plain(leftBehind.join(', '))}`)
  if (outcome === 'added')
    return `${pc.green('+')} ${shown}${as === name ? '' : pc.yellow(` as ${as}, since the name is taken`)}${left}`
  if (outcome === 'present')
    return `${pc.dim('=')} ${shown} ${pc.dim(as === name ? 'is already there' : `is already there as ${as}`)}`
  if (outcome === 'disabled') return `${pc.dim('–')} ${shown} ${pc.dim('is disabled there')}`
  return `${pc.red('✗')} ${shown} ${plain(reason ?? '')}`
}

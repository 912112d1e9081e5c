import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { configDirectory } from 'toolcrib/mcp'
import type { Terminal } from '../terminal.ts'
import { figure, plain, plural } from '../text.ts'
import { type ClientFile, type ClientPlace, clientFiles } from './client-files.ts'
import { type ImportPlan, type PlannedServer, planImport } from './plan-import.ts'
import type { ImportedServer } from './read-servers.ts'
import { openTarget } from './target-file.ts'

export interface ImportFlags {
  readonly to?: string
  readonly user?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

/** Adds the servers of other programs to a config file. */
export async function runImport(
  terminal: Terminal,
  clients: readonly string[],
  flags: ImportFlags,
): Promise<number> {
  const { env, cwd } = terminal
  const outcome = await importServers({
    home: env.HOME || homedir(),
    platform: process.platform,
    env,
    cwd,
    clients,
    target: targetOf(terminal, flags),
    isDry: flags.dryRun === true,
    isReplaced: flags.force === true,
  })
  if (flags.json) terminal.printJson(outcome)
  else show(terminal, outcome)
  return exitCodeOf(outcome)
}

/** 1 when nothing was found, or when a file could not be read and its servers are missing. */
export function exitCodeOf({ files }: Pick<ImportOutcome, 'files'>): 0 | 1 {
  return files.length === 0 || files.some(({ problem }) => problem !== undefined) ? 1 : 0
}

export interface ImportOptions extends ClientPlace {
  /** Names of programs; empty means all. */
  readonly clients: readonly string[]
  readonly target: string
  readonly isDry: boolean
  /** true: the target is replaced, and its content is lost. */
  readonly isReplaced?: boolean
}

export interface ImportOutcome {
  readonly target: string
  readonly files: ImportPlan['files']
  /** Names of the servers that were added, or would be. */
  readonly added: readonly string[]
  /** Names of the servers that were already in the target. */
  readonly kept: readonly string[]
  readonly written: boolean
  /** True when the target was replaced, or would be: its content is lost. */
  readonly replaced: boolean
  /** Where it looked for servers, including files that do not exist. */
  readonly looked: readonly string[]
  /** How many variables and headers were copied with their values. */
  readonly copiedValues: number
}

/** Finds servers, and adds the new ones to the target. Throws `config-invalid` for an invalid target. */
export async function importServers({
  clients,
  target,
  isDry,
  isReplaced = false,
  ...place
}: ImportOptions): Promise<ImportOutcome> {
  const files = clientFiles(place)
  const known = new Set(files.map(({ client }) => client))
  const unknown = clients.find((client) => !known.has(client))
  if (unknown !== undefined)
    throw new ToolcribError(
      'config-invalid',
      `unknown program "${unknown}"; use one of ${[...known].join(', ')}`,
    )
  const wanted = files.filter(({ client }) => clients.length === 0 || clients.includes(client))
  const file = await openTarget(target, { isReplaced })
  const plan = planImport(await readExisting(wanted), file.present)
  const isWritten = !isDry && plan.added.size > 0
  if (isWritten) await file.add(plan.added)
  return {
    target,
    files: plan.files.filter(({ servers, problem }) => servers.length > 0 || problem !== undefined),
    added: [...plan.added.keys()],
    kept: [...file.present.keys()],
    written: isWritten,
    replaced: file.isReplaced && plan.added.size > 0,
    looked: wanted.map(({ path }) => path),
    copiedValues: [...plan.added.values()].reduce((sum, server) => sum + literalValues(server), 0),
  }
}

function targetOf({ env, cwd }: Terminal, { to, user }: ImportFlags): string {
  if (to !== undefined) return resolve(cwd, to)
  const folder = user ? configDirectory(env) : cwd
  if (folder === undefined)
    throw new ToolcribError('config-invalid', 'there is no config folder; pass --to <file>')
  return join(folder, 'toolcrib.toml')
}

async function readExisting(files: readonly ClientFile[]): Promise<{ file: ClientFile; text: string }[]> {
  const read = await Promise.all(files.map(async (file) => ({ file, text: await readText(file.path) })))
  return read.flatMap(({ file, text }) => (text === undefined ? [] : [{ file, text }]))
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    // Most of these programs are not installed.
    return undefined
  }
}

function literalValues({ env, headers }: ImportedServer): number {
  const values = [...Object.values(env ?? {}), ...Object.values(headers ?? {})]
  return values.filter((value) => !String(value).includes('${')).length
}

function show(terminal: Terminal, outcome: ImportOutcome): void {
  const { files, target, added, kept, written, replaced, copiedValues } = outcome
  if (files.length === 0) showNothingFound(terminal, outcome)
  for (const { title, path, servers, problem } of files) {
    terminal.say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    if (problem !== undefined) terminal.say(`  ${pc.red('✗')} ${plain(problem)}`)
    for (const server of servers) terminal.say(`  ${describe(server)}`)
  }
  if (files.length === 0) return
  terminal.say()
  const beside = kept.length > 0 ? `, beside the ${figure(kept.length)} already there` : ''
  const what = `${plural(added.length, 'server')} to ${target}${replaced ? ', replacing the file' : beside}`
  if (added.length === 0) terminal.say(`nothing new for ${target}`)
  else if (written) terminal.say(`${pc.green('added')} ${what}; check with "toolcrib doctor"`)
  else terminal.say(`would add ${what}; run without --dry-run to write it`)
  if (written && copiedValues > 0)
    terminal.say(
      pc.yellow(
        `${plural(copiedValues, 'value of a variable or header was', 'values of variables or headers were')} copied: keep the file private, or write \${NAME} instead`,
      ),
    )
}

function showNothingFound(terminal: Terminal, { looked, target }: ImportOutcome): void {
  terminal.say('no servers were found in any of these files:')
  for (const path of looked) terminal.say(pc.dim(`  ${path}`))
  terminal.say(
    `\nTo configure one by hand, write ${target}:\n\n${MINIMAL_CONFIG}\nthen check it with "toolcrib doctor"`,
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

import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { configDirectory } from 'toolcrib/mcp'
import { figure, plain, plural, printJson, say } from '../terminal.ts'
import { type ClientFile, clientFiles, type Surroundings } from './client-files.ts'
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

/** `toolcrib import`: takes over the servers that other programs are configured with. */
export async function runImport(clients: readonly string[], flags: ImportFlags): Promise<void> {
  const outcome = await importServers({
    home: homedir(),
    platform: process.platform,
    env: process.env,
    cwd: process.cwd(),
    clients,
    target: targetOf(flags),
    isDry: flags.dryRun === true,
    isAnew: flags.force === true,
  })
  if (flags.json) printJson(outcome)
  else show(outcome)
  process.exitCode = exitCodeOf(outcome)
}

/** 1 when nothing was found, or a file cannot be read: who asked for all of it did not get all of it. */
export function exitCodeOf({ files }: Pick<ImportOutcome, 'files'>): 0 | 1 {
  return files.length === 0 || files.some(({ problem }) => problem !== undefined) ? 1 : 0
}

export interface ImportOptions extends Surroundings {
  /** Names of programs; all, when empty. */
  readonly clients: readonly string[]
  readonly target: string
  readonly isDry: boolean
  /** true: what the target holds is lost. */
  readonly isAnew?: boolean
}

export interface ImportOutcome {
  readonly target: string
  readonly files: ImportPlan['files']
  /** Names under which servers were added, or would be. */
  readonly added: readonly string[]
  /** Names of the servers that were in the target, and stay. */
  readonly kept: readonly string[]
  readonly written: boolean
  /** True when the target is written anew, or would be: what it held is lost. */
  readonly replaced: boolean
  /** Where servers were looked for, whether a file was there or not. */
  readonly looked: readonly string[]
  /** Variables and headers whose values were copied along. */
  readonly copiedValues: number
}

/** Looks for servers, and adds those that are new to the target. Throws `config-invalid` for a target that makes no sense. */
export async function importServers({
  clients,
  target,
  isDry,
  isAnew = false,
  ...around
}: ImportOptions): Promise<ImportOutcome> {
  const files = clientFiles(around)
  const known = new Set(files.map(({ client }) => client))
  const unknown = clients.find((client) => !known.has(client))
  if (unknown !== undefined)
    throw new ToolcribError(
      'config-invalid',
      `"${unknown}" is no known program; known are ${[...known].join(', ')}`,
    )
  const wanted = files.filter(({ client }) => clients.length === 0 || clients.includes(client))
  const file = await openTarget(target, { isAnew })
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

function targetOf({ to, user }: ImportFlags): string {
  if (to !== undefined) return resolve(to)
  const folder = user ? configDirectory(process.env) : process.cwd()
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
    // Most of these programs are not installed, and what cannot be read cannot be taken over.
    return undefined
  }
}

function literalValues({ env, headers }: ImportedServer): number {
  const values = [...Object.values(env ?? {}), ...Object.values(headers ?? {})]
  return values.filter((value) => !String(value).includes('${')).length
}

function show(outcome: ImportOutcome): void {
  const { files, target, added, kept, written, replaced, copiedValues } = outcome
  if (files.length === 0) showNothingFound(outcome)
  for (const { title, path, servers, problem } of files) {
    say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    if (problem !== undefined) say(`  ${pc.red('✗')} ${plain(problem)}`)
    for (const server of servers) say(`  ${describe(server)}`)
  }
  if (files.length === 0) return
  say()
  const beside = kept.length > 0 ? `, beside the ${figure(kept.length)} that it has` : ''
  const what = `${plural(added.length, 'server')} to ${target}${replaced ? ', written anew' : beside}`
  if (added.length === 0) say(`nothing new for ${target}`)
  else if (written) say(`${pc.green('added')} ${what}; check with "toolcrib doctor"`)
  else say(`would add ${what}; leave out --dry-run to do so`)
  if (written && copiedValues > 0)
    say(
      pc.yellow(
        `${plural(copiedValues, 'value')} of variables or headers came along: keep the file private, or write \${NAME} instead`,
      ),
    )
}

function showNothingFound({ looked, target }: ImportOutcome): void {
  say('no servers were found; these files were looked for:')
  for (const path of looked) say(pc.dim(`  ${path}`))
  say(
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
    return `${pc.dim('=')} ${shown} ${pc.dim(as === name ? 'is there already' : `is there already as ${as}`)}`
  if (outcome === 'disabled') return `${pc.dim('–')} ${shown} ${pc.dim('is switched off there')}`
  return `${pc.red('✗')} ${shown} ${plain(reason ?? '')}`
}

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import pc from 'picocolors'
import { parse, stringify, TomlError } from 'smol-toml'
import { ToolcribError } from 'toolcrib'
import { configDirectory, readConfig } from 'toolcrib/mcp'
import { type ClientFile, clientFiles, type Surroundings } from './import/client-files.ts'
import { type ImportPlan, type PlannedServer, planImport } from './import/plan-import.ts'
import { type ImportedServer, serversUnder } from './import/read-servers.ts'
import { plain, plural, print, printJson } from './terminal.ts'

interface ImportFlags {
  readonly to?: string
  readonly user?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `toolcrib import`: takes over the servers that other programs are configured with. */
export function importCommand(): Command {
  return new Command('import')
    .description('Find the MCP servers that your editors and assistants use, and add them to toolcrib.toml.')
    .argument(
      '[clients...]',
      'only these: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, …',
    )
    .option('--to <file>', 'the file to add to (default: toolcrib.toml here)')
    .option('--user', 'add to the toolcrib.toml of your config folder, for every project')
    .option('--dry-run', 'show what would be added, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(async (clients: string[], flags: ImportFlags) => {
      const around = { home: homedir(), platform: process.platform, env: process.env, cwd: process.cwd() }
      const outcome = await importServers({
        ...around,
        clients,
        target: targetOf(flags),
        isDry: flags.dryRun === true,
      })
      if (flags.json) printJson(outcome)
      else show(outcome)
      process.exitCode = outcome.files.length === 0 ? 1 : 0
    })
}

const HELP = `
What is in toolcrib.toml already stays as it is: new servers are added behind it, others are left alone. The files of
the other programs are only read.

Examples:
  toolcrib import --dry-run         look first
  toolcrib import                   everything that is found
  toolcrib import cursor codex      two programs
  toolcrib import --user            into your own config, for every project
Exit codes: 0 done, 1 nothing was found, 2 wrong usage or a config that cannot be read.`

export interface ImportOptions extends Surroundings {
  /** Names of programs; all, when empty. */
  readonly clients: readonly string[]
  readonly target: string
  readonly isDry: boolean
}

export interface ImportOutcome {
  readonly target: string
  readonly files: ImportPlan['files']
  /** Names under which servers were added, or would be. */
  readonly added: readonly string[]
  readonly written: boolean
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
  const before = await readTarget(target)
  const plan = planImport(await readExisting(wanted), presentServers(before ?? '', target))
  const isWritten = !isDry && plan.added.size > 0
  if (isWritten) await writeServers(target, before, plan.added)
  return {
    target,
    files: plan.files.filter(({ servers, problem }) => servers.length > 0 || problem !== undefined),
    added: [...plan.added.keys()],
    written: isWritten,
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

async function readTarget(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new ToolcribError('config-invalid', `${path} cannot be read; pass another file by --to`, { cause })
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    // Most of these programs are not installed, and what cannot be read cannot be taken over.
    return undefined
  }
}

function presentServers(text: string, target: string): ReadonlyMap<string, ImportedServer> {
  try {
    return serversUnder('server', 'servers', 'mcpServers')(parse(text))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    const place = cause instanceof TomlError ? `${target}:${cause.line}` : target
    const step = 'mend it there, or import to another file with --to'
    throw new ToolcribError('config-invalid', `${place}: ${reason}; ${step}`, { cause })
  }
}

/** Adds tables behind what is there, so that comments and order stay; the whole is checked before it takes its place. */
async function writeServers(
  target: string,
  before: string | undefined,
  added: ReadonlyMap<string, ImportedServer>,
): Promise<void> {
  const tables = stringify({ server: Object.fromEntries(added) })
  const text =
    before === undefined || before.trim() === '' ? `${tables}\n` : `${before.trimEnd()}\n\n${tables}\n`
  try {
    readConfig(parse(text))
  } catch (cause) {
    const step = 'import to another file with --to, and join them by hand'
    throw new ToolcribError('config-invalid', `${target} cannot be added to; ${step}`, { cause })
  }
  const draft = `${target}.${randomUUID()}`
  // Values of variables may be secrets: a new file is for its owner alone.
  const mode = before === undefined ? 0o600 : (await stat(target)).mode & 0o777
  await mkdir(dirname(target), { recursive: true })
  try {
    await writeFile(draft, text, { mode })
    await rename(draft, target)
  } finally {
    await rm(draft, { force: true })
  }
}

function literalValues({ env, headers }: ImportedServer): number {
  const values = [...Object.values(env ?? {}), ...Object.values(headers ?? {})]
  return values.filter((value) => !String(value).includes('${')).length
}

function show(outcome: ImportOutcome): void {
  const { files, target, added, written, copiedValues } = outcome
  if (files.length === 0) showNothingFound(outcome)
  for (const { title, path, servers, problem } of files) {
    print(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    if (problem !== undefined) print(`  ${pc.red('✗')} ${plain(problem)}`)
    for (const server of servers) print(`  ${describe(server)}`)
  }
  if (files.length === 0) return
  print()
  if (added.length === 0) print(`nothing new for ${target}`)
  else if (written)
    print(`${pc.green('added')} ${plural(added.length, 'server')} to ${target}; check with "toolcrib doctor"`)
  else print(`would add ${plural(added.length, 'server')} to ${target}; leave out --dry-run to do so`)
  if (written && copiedValues > 0)
    print(
      pc.yellow(
        `${plural(copiedValues, 'value')} of variables or headers came along: keep the file private, or write \${NAME} instead`,
      ),
    )
}

function showNothingFound({ looked, target }: ImportOutcome): void {
  print('no servers were found; these files were looked for:')
  for (const path of looked) print(pc.dim(`  ${path}`))
  print(
    `\nTo configure one by hand, write ${target}:\n\n${MINIMAL_CONFIG}\nthen check it with "toolcrib doctor"`,
  )
}

const MINIMAL_CONFIG = `  [server.files]
  command = "npx"
  args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
`

function describe({ name, outcome, as, reason }: PlannedServer): string {
  const shown = plain(name)
  if (outcome === 'added')
    return `${pc.green('+')} ${shown}${as === name ? '' : pc.yellow(` as ${as}, since the name is taken`)}`
  if (outcome === 'present')
    return `${pc.dim('=')} ${shown} ${pc.dim(as === name ? 'is there already' : `is there already as ${as}`)}`
  if (outcome === 'disabled') return `${pc.dim('–')} ${shown} ${pc.dim('is switched off there')}`
  return `${pc.red('✗')} ${shown} ${plain(reason ?? '')}`
}

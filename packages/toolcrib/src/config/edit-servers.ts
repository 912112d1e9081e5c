import { join, resolve } from 'node:path'
import { configDirectory, findConfig } from '@toolcrib/mcp'
import { diffLines, ServersFile } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { unknownServer } from '../servers/unknown-server.ts'
import { showDiff } from '../terminal/show-diff.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { requireConfigName, UsageError } from '../terminal/usage-error.ts'

/** Flags of the commands that change the servers of a config. */
export interface EditFlags {
  readonly config?: string
  readonly user?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** What a command does to a server in a config. */
export interface ServerEdit {
  /** What was done, in the past tense. */
  readonly verb: string
  /** The preposition before the file: in, to, from. */
  readonly place: string
  readonly edit: (file: ServersFile, server: string) => void
}

/**
 * The config files that a command may change, the preferred one first: that of the flag, or the project's, then the
 * user's. None of them need exist.
 */
export async function editableFiles({ cwd, env }: Terminal, { config, user }: EditFlags): Promise<string[]> {
  if (config !== undefined && user) throw new UsageError('give one of --config and --user')
  if (config !== undefined) return [resolve(cwd, requireConfigName('--config', config))]
  const folder = configDirectory(env)
  const own = folder === undefined ? [] : [join(folder, 'toolcrib.toml')]
  if (user) return own
  const { config: found } = await findConfig({ cwd, env, optional: true, lenient: true })
  const [first = join(cwd, 'toolcrib.toml'), ...rest] = [...found.files].reverse()
  return [...new Set([first, ...rest, ...own])]
}

/** Opens the file that has the server. Throws `config-invalid` when none of them has it. */
export async function fileWith(terminal: Terminal, name: string, flags: EditFlags): Promise<ServersFile> {
  const files: ServersFile[] = []
  for (const path of await editableFiles(terminal, flags)) files.push(await ServersFile.open(path))
  const holder = files.find((file) => file.servers().has(name))
  if (holder) return holder
  const known = files.flatMap((file) => [...file.servers().keys()])
  throw unknownServer(name, { servers: known })
}

/** Changes servers by name, each in the file that has it; saves only when every change is possible. */
export async function editServers(
  terminal: Terminal,
  names: readonly string[],
  flags: EditFlags,
  { verb, place, edit }: ServerEdit,
): Promise<number> {
  const files = new Map<string, ServersFile>()
  for (const name of names) {
    const found = await fileWith(terminal, name, flags)
    const file = files.get(found.path) ?? found
    files.set(file.path, file)
    edit(file, name)
  }
  const listed = names.join(', ')
  return finishEdit(terminal, [...files.values()], flags, {
    outcome: `${verb} ${listed}`,
    place,
    unchanged: `${listed} ${names.length === 1 ? 'is' : 'are'} ${verb} already`,
  })
}

/** The message about an edit. */
interface EditOutcome {
  readonly outcome: string
  readonly place: string
  /** The message if nothing had to change. */
  readonly unchanged: string
}

/** Writes the changed files, or with `--dry-run` shows what would change. */
export async function finishEdit(
  terminal: Terminal,
  files: readonly ServersFile[],
  { dryRun = false, json = false }: EditFlags,
  { outcome, place, unchanged }: EditOutcome,
): Promise<number> {
  const changed = files.filter(({ before, text }) => before !== text)
  if (!dryRun) for (const file of changed) await file.save()
  const paths = changed.map(({ path }) => path)
  if (json) terminal.printJson({ files: paths, written: !dryRun && changed.length > 0 })
  else if (changed.length === 0) terminal.say(unchanged)
  else if (dryRun)
    for (const { path, before, text } of changed) {
      terminal.say(pc.dim(path))
      showDiff(terminal, diffLines(before ?? '', text))
    }
  else terminal.say(`${pc.green(outcome)} ${place} ${paths.join(', ')}; check with "toolcrib doctor"`)
  return 0
}

import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '@toolcrib/core/internal'
import type { Environment } from '../config/server-config.ts'
import { stateDirectory } from '../config/user-folders.ts'
import { makeFolder } from '../stores/files/make-folder.ts'
import { writeWhole } from '../stores/files/write-whole.ts'
import { sha256 } from './definition.ts'
import type { LockLayer } from './lock-layers.ts'
import type { LockedServer, ProgramChange } from './lockfile.ts'

/**
 * Records in the user's state folder which lockfiles were in use on this machine and which programs their servers
 * ran, so that neither changes silently: a lockfile is the same on every machine, so it cannot contain paths of
 * programs. Read and write errors are ignored: without this record, programs count as approved when first seen.
 */
export class LockMemory {
  readonly #directory: string | undefined

  constructor(env: Environment) {
    const folder = stateDirectory(env)
    this.#directory = folder === undefined ? undefined : join(folder, 'locks')
  }

  /**
   * Returns a warning for each lockfile that existed before and is missing, and the servers that would run another
   * program than when they were approved; records the rest. `programs` are real paths by server.
   */
  async check(
    layers: readonly LockLayer[],
    programs: ReadonlyMap<string, string>,
  ): Promise<{ readonly warnings: string[]; readonly moved: ReadonlyMap<string, ProgramChange> }> {
    const checked = await Promise.all(layers.map((layer) => this.#checkLayer(layer, programs)))
    return {
      warnings: checked.flatMap(({ warnings }) => warnings),
      moved: new Map(checked.flatMap(({ moved }) => moved)),
    }
  }

  async #checkLayer(
    { path, lockfile, damage, servers }: LockLayer,
    programs: ReadonlyMap<string, string>,
  ): Promise<{ warnings: string[]; moved: [string, ProgramChange][] }> {
    if (this.#directory === undefined || damage) return { warnings: [], moved: [] }
    const file = join(this.#directory, fileOf(path))
    const before = await recall(file, path)
    if (!lockfile)
      return { warnings: before && servers.size > 0 ? [goneWarning(path, servers)] : [], moved: [] }
    const known: Record<string, KnownProgram> = {}
    const moved: [string, ProgramChange][] = []
    for (const [name, locked] of lockfile.servers) {
      const entry = entryOf(locked)
      const recorded = before?.programs[name]
      // A later approval of the command covers the program, too.
      const approved = recorded?.entry === entry ? recorded.program : undefined
      const now = servers.has(name) ? programs.get(name) : undefined
      const program = approved ?? now
      if (program !== undefined) known[name] = { program, entry }
      if (approved !== undefined && now !== undefined && now !== approved)
        moved.push([name, { before: approved, after: now }])
    }
    const next: Memory = { path, programs: known }
    if (JSON.stringify(next) !== JSON.stringify(before)) await this.#write(file, next).catch(() => {})
    return { warnings: [], moved }
  }

  async #write(file: string, memory: Memory): Promise<void> {
    if (this.#directory !== undefined) await makeFolder(this.#directory, { mode: 0o700 })
    await writeWhole(file, `${JSON.stringify(memory)}\n`, { mode: 0o600 })
  }
}

/**
 * Records that a lockfile is no longer in use, so that nothing warns of its absence.
 *
 * @example
 * import { forgetLock } from 'toolcrib/mcp'
 *
 * await forgetLock('/project/toolcrib.lock', process.env)
 */
export async function forgetLock(path: string, env: Environment): Promise<void> {
  const folder = stateDirectory(env)
  if (folder !== undefined) await rm(join(folder, 'locks', fileOf(path)), { force: true })
}

interface Memory {
  readonly path: string
  readonly programs: Readonly<Record<string, KnownProgram>>
}

/** The program of a server, and the approval that it was found under. */
interface KnownProgram {
  readonly program: string
  readonly entry: string
}

/** Changes whenever a server's command is approved again. */
function entryOf({ hash, runs, approval }: LockedServer): string {
  return sha256({ hash, runs, approval })
}

function fileOf(path: string): string {
  return `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.json`
}

function goneWarning(path: string, servers: ReadonlySet<string>): string {
  const step = `restore it, or write a new one with "toolcrib lock"; if you removed it on purpose, run "toolcrib unlock"`
  return `${path} was used before and is missing, so ${shortly([...servers])} will not be checked for changes; ${step}`
}

function shortly(servers: readonly string[]): string {
  const more = servers.length - 3
  return more > 1 ? `${servers.slice(0, 3).join(', ')} and ${more} more` : servers.join(', ')
}

async function recall(file: string, path: string): Promise<Memory | undefined> {
  try {
    const data: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isRecord(data) || data.path !== path) return undefined
    const programs = Object.entries(isRecord(data.programs) ? data.programs : {}).flatMap(
      ([server, known]) =>
        isRecord(known) && typeof known.program === 'string' && typeof known.entry === 'string'
          ? [[server, { program: known.program, entry: known.entry }] as const]
          : [],
    )
    return { path, programs: Object.fromEntries(programs) }
  } catch {
    return undefined
  }
}

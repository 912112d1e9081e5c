import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import type { Environment } from '../config/server-config.ts'
import { stateDirectory } from '../config/user-folders.ts'
import type { LockLayer } from './lock-layers.ts'

/**
 * Records in the user's state folder which lockfiles were in use on this machine and which programs their servers
 * ran, so that neither changes silently: a lockfile is the same on every machine, so it cannot contain paths of
 * programs. Read and write errors are ignored, because this only ever adds warnings.
 */
export class LockMemory {
  readonly #directory: string | undefined

  constructor(env: Environment) {
    const folder = stateDirectory(env)
    this.#directory = folder === undefined ? undefined : join(folder, 'locks')
  }

  /**
   * Returns a warning for each lockfile that existed before and is missing, and for each server that would run
   * another program than when its lockfile was written; records the rest. `programs` are real paths by server.
   */
  async check(layers: readonly LockLayer[], programs: ReadonlyMap<string, string>): Promise<string[]> {
    const warnings = await Promise.all(layers.map((layer) => this.#checkLayer(layer, programs)))
    return warnings.flat()
  }

  async #checkLayer(
    { path, lockfile, damage, servers }: LockLayer,
    programs: ReadonlyMap<string, string>,
  ): Promise<string[]> {
    if (this.#directory === undefined || damage) return []
    const file = join(this.#directory, `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.json`)
    const before = await recall(file, path)
    if (!lockfile) return before && servers.size > 0 ? [goneWarning(path, servers, file)] : []
    const writtenAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
    // Whoever wrote the lockfile since then has reviewed its servers.
    const known = before?.writtenAt === writtenAt ? before.programs : {}
    const own = Object.fromEntries([...programs].filter(([server]) => servers.has(server)))
    const moved = Object.entries(own).filter(([server, program]) => (known[server] ?? program) !== program)
    const next: Memory = { path, writtenAt, programs: { ...own, ...known } }
    if (JSON.stringify(next) !== JSON.stringify(before)) await this.#write(file, next).catch(() => {})
    return moved.map(
      ([server, program]) =>
        `server "${server}" would run ${program}, but ran ${known[server]} when it was approved; if this is intended, run "toolcrib lock"`,
    )
  }

  async #write(file: string, memory: Memory): Promise<void> {
    if (this.#directory !== undefined) await makeFolder(this.#directory, { mode: 0o700 })
    await writeWhole(file, `${JSON.stringify(memory)}\n`, { mode: 0o600 })
  }
}

interface Memory {
  readonly path: string
  /** When the lockfile was written, so that a new approval starts from the programs found then. */
  readonly writtenAt: number
  readonly programs: Readonly<Record<string, string>>
}

function goneWarning(path: string, servers: ReadonlySet<string>, file: string): string {
  const step = `restore it, or write a new one with "toolcrib lock"; if you removed it on purpose, delete ${file}`
  return `${path} was used before and is missing, so ${[...servers].join(', ')} will not be checked for changes; ${step}`
}

async function recall(file: string, path: string): Promise<Memory | undefined> {
  try {
    const data: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isRecord(data) || data.path !== path) return undefined
    const { writtenAt, programs } = data
    const entries = Object.entries(isRecord(programs) ? programs : {})
    return {
      path,
      writtenAt: typeof writtenAt === 'number' ? writtenAt : 0,
      programs: Object.fromEntries(entries.map(([server, program]) => [server, String(program)])),
    }
  } catch {
    return undefined
  }
}

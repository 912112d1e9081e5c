import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import type { Environment } from '../config/load-config.ts'
import { stateDirectory } from '../config/user-folders.ts'
import type { LockLayer } from './lock-layers.ts'

/**
 * Remembers in the user's state folder which lockfiles were in force on this machine and which programs their servers
 * ran, so that neither changes silently: a lockfile means the same on every machine, and cannot say where a program lies.
 * What cannot be read or written there is ignored: it only ever adds warnings.
 */
export class LockMemory {
  readonly #directory: string | undefined

  constructor(env: Environment) {
    const folder = stateDirectory(env)
    this.#directory = folder === undefined ? undefined : join(folder, 'locks')
  }

  /**
   * Returns a warning for each lockfile that was there before and is gone, and for each server that would run another
   * program than when its lockfile was written; remembers the rest. `programs` are resolved paths by server.
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
    // Whoever wrote the lockfile since has looked at its servers.
    const known = before?.writtenAt === writtenAt ? before.programs : {}
    const own = Object.fromEntries([...programs].filter(([server]) => servers.has(server)))
    const moved = Object.entries(own).filter(([server, program]) => (known[server] ?? program) !== program)
    const next: Memory = { path, writtenAt, programs: { ...own, ...known } }
    if (JSON.stringify(next) !== JSON.stringify(before)) await this.#write(file, next).catch(() => {})
    return moved.map(
      ([server, program]) =>
        `server "${server}" would run ${program}, and ran ${known[server]} when it was approved; if that is right, run "toolcrib lock"`,
    )
  }

  async #write(file: string, memory: Memory): Promise<void> {
    if (this.#directory !== undefined) await makeFolder(this.#directory, { mode: 0o700 })
    await writeWhole(file, `${JSON.stringify(memory)}\n`, { mode: 0o600 })
  }
}

interface Memory {
  readonly path: string
  /** When the lockfile was written, so that a new approval starts from what is there then. */
  readonly writtenAt: number
  readonly programs: Readonly<Record<string, string>>
}

function goneWarning(path: string, servers: ReadonlySet<string>, file: string): string {
  const step = `restore it, or write a new one with "toolcrib lock"; if you removed it on purpose, delete ${file}`
  return `${path} was in force before and is gone, so nothing checks ${[...servers].join(', ')} for changes; ${step}`
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

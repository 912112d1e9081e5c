import { type CapabilityBackend, CapabilityError } from '@toolcrib/core'
import {
  anyText,
  checkOptions,
  describeError,
  type OptionRules,
  objectOf,
  textList,
  trueOrFalse,
  turns,
  wholeNumber,
} from '@toolcrib/core/internal'
import { checkRunning } from './check-running.ts'
import { openSpace, type StorageSpace } from './storage/directory-space.ts'

/** Where values are stored, which tools share them, and the size limits. */
export interface StorageOptions {
  /** Stores values in this directory, for one process at a time; in memory if absent. */
  readonly directory?: string
  /** Tools that share a space, by space name. By default the memory tools share one and the kanban tools another. */
  readonly shared?: { readonly [space: string]: readonly string[] }
  /** Gives each session its own spaces. */
  readonly perSession?: boolean
  /** Maximum key length, in characters. 256 by default. */
  readonly maxKeyLength?: number
  /** Maximum value size, in bytes. 1 MiB by default. */
  readonly maxValueBytes?: number
  /** Maximum keys per space. 10,000 by default. */
  readonly maxKeys?: number
}

const OPTIONS: OptionRules<StorageOptions> = {
  directory: anyText,
  shared: objectOf(textList),
  perSession: trueOrFalse,
  maxKeyLength: wholeNumber({ from: 1 }),
  maxValueBytes: wholeNumber({ from: 1 }),
  maxKeys: wholeNumber({ from: 1 }),
}

const SHARED_BY_DEFAULT = {
  memory: ['memory_save', 'memory_search'],
  kanban: ['kanban_list', 'kanban_add', 'kanban_move'],
}

/**
 * A key-value store for each tool. A tool sees only its own space, unless the host shares one. Changes to a space run
 * one at a time, so concurrent calls lose no updates.
 */
export function storageBackend(options: StorageOptions = {}): CapabilityBackend<'storage'> {
  checkOptions('storageBackend()', options, OPTIONS)
  const { maxKeyLength = 256, maxValueBytes = 1024 * 1024, maxKeys = 10_000 } = options
  const { directory } = options
  const inMemory = new Map<string, StorageSpace>()
  const spaceNamed = (name: string) => {
    if (directory !== undefined) return openSpace(directory, name)
    const space = inMemory.get(name) ?? memorySpace()
    inMemory.set(name, space)
    return space
  }
  const spaceOf = spaceNames(options.shared ?? SHARED_BY_DEFAULT)
  const inTurn = turns()

  const checkKey = (key: string) => {
    if (key !== '' && key.length <= maxKeyLength) return
    throw new CapabilityError('execution_failed', `a key must have 1 to ${maxKeyLength} characters`)
  }
  const write = async (space: StorageSpace, key: string, value: string | undefined) => {
    if (value === undefined) return space.delete(key)
    const bytes = Buffer.byteLength(value)
    if (bytes > maxValueBytes) {
      throw new CapabilityError(
        'execution_failed',
        `the value has ${bytes} bytes, more than the ${maxValueBytes} the host allows; split it`,
      )
    }
    if ((await space.get(key)) === undefined && (await space.count()) >= maxKeys) {
      throw new CapabilityError(
        'execution_failed',
        `the store already has ${maxKeys} keys, the maximum; delete some first`,
      )
    }
    await space.set(key, value)
  }

  return {
    open(_declared, scope) {
      const name = JSON.stringify([spaceOf(scope.tool), ...(options.perSession ? [scope.sessionId] : [])])
      const space = spaceNamed(name)
      const run = async <Value>(operate: () => Promise<Value>): Promise<Value> => {
        checkRunning(scope.signal)
        try {
          return await operate()
        } catch (thrown) {
          if (thrown instanceof CapabilityError) throw thrown
          throw new CapabilityError('execution_failed', `the store failed: ${describeError(thrown)}`, {
            cause: thrown,
          })
        }
      }
      const update = (key: string, change: (value: string | undefined) => string | undefined) =>
        inTurn(name, () =>
          run(async () => {
            checkKey(key)
            const changed = change(await space.get(key))
            await write(space, key, changed)
            return changed
          }),
        )
      return {
        get: (key) => run(async () => space.get(key)),
        set: async (key, value) => void (await update(key, () => value)),
        delete: async (key) => void (await update(key, () => undefined)),
        keys: () => run(async () => (await space.keys()).sort()),
        update,
      }
    },
  }
}

/** The values last as long as the process. */
function memorySpace(): StorageSpace {
  const values = new Map<string, string>()
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => void values.delete(key),
    keys: async () => [...values.keys()],
    count: async () => values.size,
  }
}

/** Maps a tool to its space: a shared one by name, otherwise its own. The two kinds of names never collide. */
function spaceNames(shared: { readonly [space: string]: readonly string[] }): (tool: string) => string {
  const spaces = new Map(
    Object.entries(shared).flatMap(([space, tools]) => tools.map((tool) => [tool, space])),
  )
  return (tool) => {
    const space = spaces.get(tool)
    return space === undefined ? `tool ${tool}` : `shared ${space}`
  }
}

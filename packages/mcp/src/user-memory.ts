import { join } from 'node:path'
import type { Store } from '@toolcrib/core'
import { type UsageMemory, usageMemory } from '@toolcrib/core'
import { hashText } from '@toolcrib/core/internal'
import type { Config } from './config/load-config.ts'
import type { Environment } from './config/server-config.ts'
import { stateDirectory } from './config/user-folders.ts'
import { fileStore } from './stores/file-store.ts'

/** The memory of past use that belongs to a config. */
export interface UserMemory {
  readonly memory: UsageMemory
  /** Releases its files. A store that was passed in stays open. */
  close(): Promise<void>
}

/**
 * Opens the memory that all doors of a config share: in files of the user's state folder, or in the store of replicas.
 * Each config has its own, since servers of the same name may differ between configs. Undefined if the config turns it
 * off (`memory = false`), or if there is no place for it.
 */
export function openUserMemory(
  { memory = true, memoryText = false, files }: Pick<Config, 'memory' | 'memoryText' | 'files'>,
  { env = process.env, store }: { readonly env?: Environment; readonly store?: Store | undefined } = {},
): UserMemory | undefined {
  const folder = stateDirectory(env)
  if (!memory || (store === undefined && folder === undefined)) return undefined
  const kept = store ?? fileStore({ directory: join(folder ?? '', 'memory') })
  const owner = `config:${hashText(files.join('\n'))}`
  return {
    memory: usageMemory({ store: kept, owner, keepText: memoryText }),
    close: async () => {
      if (kept !== store) await kept.close()
    },
  }
}

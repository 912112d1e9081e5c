import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { ToolcribError, type ToolRegistry } from '@toolcrib/core'
import { exactTokenCounter } from '@toolcrib/embedder/tokens'
import { cacheDirectory } from '@toolcrib/mcp'
import { fileStore, type Store, type StoredValue } from '@toolcrib/mcp/stores'
import type { Terminal } from '../terminal/terminal.ts'

/** The parts of a definition that a model reads. */
interface Definition {
  readonly name: string
  readonly description?: unknown
  readonly parameters?: unknown
}

/**
 * Counts the tokens of definitions exactly, one by one like `session.context()`, so that sums agree everywhere. Loading
 * the tables of the exact counter takes longer than a whole command, so counts are kept in the user's cache folder, and
 * the tables are loaded only for definitions that have not been counted before.
 */
export class TokenCounts {
  readonly #folder: string | undefined
  #known: Promise<Map<string, number>> | undefined

  constructor({ env }: Pick<Terminal, 'env'>) {
    this.#folder = cacheDirectory(env)
  }

  /** The tokens of all these definitions together. */
  async sum(tools: readonly Definition[]): Promise<number> {
    return (await this.each(tools)).reduce((sum, tokens) => sum + tokens, 0)
  }

  /** The tokens of all definitions of each server. */
  async byServer(registry: ToolRegistry): Promise<ReadonlyMap<string, number>> {
    const schemas = registry.listSchemas()
    const tokensOf = await this.each(schemas)
    const sums = new Map<string, number>()
    for (const [at, { mcpServer = '' }] of schemas.entries())
      sums.set(mcpServer, (sums.get(mcpServer) ?? 0) + (tokensOf[at] ?? 0))
    return sums
  }

  /** The tokens of each definition, in their order. */
  async each(tools: readonly Definition[]): Promise<number[]> {
    this.#known ??= this.#load()
    const known = await this.#known
    const texts = tools.map(({ name, description, parameters }) =>
      JSON.stringify({ name, description, parameters }),
    )
    const keys = texts.map(keyOf)
    if (keys.some((key) => !known.has(key))) {
      const countTokens = await exactTokenCounter()
      const counted = new Map<string, number>()
      for (const [at, key] of keys.entries())
        if (!known.has(key)) counted.set(key, countTokens(texts[at] ?? ''))
      for (const [key, tokens] of counted) known.set(key, tokens)
      await this.#save(counted)
    }
    return keys.map((key) => known.get(key) ?? 0)
  }

  async #load(): Promise<Map<string, number>> {
    return new Map(readCounts(await this.#use((store) => store.get(KEY))))
  }

  async #save(counted: ReadonlyMap<string, number>): Promise<void> {
    const merge = (before: StoredValue | undefined) =>
      Object.fromEntries([...readCounts(before), ...counted].slice(-MAX_COUNTS))
    await this.#use((store) => store.update(KEY, merge, { ttlMs: MONTH_MS }))
  }

  /** If the cache cannot be used, only time is lost. */
  async #use<Value>(work: (store: Store) => Promise<Value>): Promise<Value | undefined> {
    if (this.#folder === undefined) return undefined
    const store = fileStore({ directory: join(this.#folder, 'store') })
    try {
      return await work(store)
    } catch (error) {
      if (error instanceof ToolcribError) return undefined
      throw error
    } finally {
      await store.close()
    }
  }
}

/** The encoding is part of the key: another one counts differently. */
const KEY = 'tokens:o200k'

const MONTH_MS = 30 * 24 * 60 * 60 * 1000

/** Enough for the servers of several projects. The oldest are removed first. */
const MAX_COUNTS = 20_000

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** Reads the counts that `#save()` wrote, and ignores anything else. */
function readCounts(kept: unknown): [key: string, tokens: number][] {
  if (typeof kept !== 'object' || kept === null) return []
  return Object.entries(kept).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1]))
}

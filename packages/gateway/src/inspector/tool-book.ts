import { estimateTokens, type TokenCounter, type ToolRegistry, type ToolSchema } from '@toolcrib/core'
import { exactTokenCounter } from '@toolcrib/embedder/tokens'

/** One tool as a line of a list. */
export interface ToolRow {
  readonly name: string
  /** The name within its source. */
  readonly ownName: string
  /** `builtin`, or the name of its server or plugin. */
  readonly source: string
  readonly kind: ToolSchema['source']
  readonly summary: string
  /** How many tokens a model reads for it, as in `toolcrib list`. */
  readonly tokens: number
}

const SUMMARY_CHARACTERS = 140
/** Counting pauses after this many tools, so that ten thousand of them do not block the process. */
const BATCH = 20
/** Longer texts are estimated, so that none blocks the process. */
const MAX_EXACT_CHARACTERS = 32_000

interface Counted {
  readonly schema: ToolSchema
  readonly tokens: number
}

/** The average is estimated from this many tools. */
const SAMPLE = 50

/**
 * Every tool with its token cost, counted once per definition. The exact counter is large, so it is loaded when the
 * page is opened; until then the average is an estimate.
 */
export class ToolBook {
  readonly #registry: ToolRegistry
  readonly #unsubscribe: () => void
  #counted: ReadonlyMap<string, Counted> = new Map()
  #exact: Promise<TokenCounter> | undefined
  #rows: Promise<readonly ToolRow[]> | undefined
  /** By the servers whose tools they are of. */
  readonly #averages = new Map<string, number>()

  constructor(registry: ToolRegistry) {
    this.#registry = registry
    this.#unsubscribe = registry.subscribe(({ type }) => {
      if (type !== 'server-synced' && type !== 'tool-registered' && type !== 'tool-unregistered') return
      this.#rows = undefined
      this.#averages.clear()
      // Once loaded, figures stay exact.
      if (this.#exact) this.rows().catch(() => {})
    })
  }

  /**
   * The average tokens of a tool, or of one of these servers: exact once the tools are counted, before that estimated from
   * a few of them.
   */
  tokensPerTool(servers?: readonly string[]): number {
    const key = JSON.stringify(servers ?? null)
    const known = this.#averages.get(key)
    if (known !== undefined) return known
    const all = this.#registry.listSchemas()
    const schemas = servers
      ? all.filter(({ mcpServer }) => mcpServer === undefined || servers.includes(mcpServer))
      : all
    const isCounted = schemas.every(({ name }) => this.#counted.has(name))
    const average = isCounted
      ? averageOf(schemas.map(({ name }) => this.#counted.get(name)?.tokens ?? 0))
      : averageTokens(schemas)
    this.#averages.set(key, average)
    return average
  }

  async rows(): Promise<readonly ToolRow[]> {
    this.#exact ??= boundedCounter()
    const countTokens = await this.#exact
    this.#rows ??= this.#count(countTokens)
    return this.#rows
  }

  /** How many tokens a model reads for these tools. */
  async tokensOf(definitions: readonly Shown[]): Promise<number> {
    this.#exact ??= boundedCounter()
    const countTokens = await this.#exact
    let sum = 0
    for (const [at, definition] of definitions.entries()) {
      if (at % BATCH === BATCH - 1) await pause()
      sum += countTokens(textOf(definition))
    }
    return sum
  }

  close(): void {
    this.#unsubscribe()
  }

  async #count(countTokens: TokenCounter): Promise<readonly ToolRow[]> {
    const counted = new Map<string, Counted>()
    let fresh = 0
    // What changed the tools may have taken long.
    await pause()
    const schemas = this.#registry.listSchemas()
    await pause()
    for (const schema of schemas) {
      const known = this.#counted.get(schema.name)
      if (known && isSame(known.schema, schema)) {
        counted.set(schema.name, known)
        continue
      }
      if (++fresh % BATCH === 0) await pause()
      counted.set(schema.name, { schema, tokens: countTokens(textOf(schema)) })
    }
    this.#counted = counted
    this.#averages.clear()
    return [...counted.values()].map(({ schema, tokens }) => toRow(schema, tokens))
  }
}

/** The average of evenly spread tools: counting thousands would take too long. */
function averageTokens(schemas: readonly ToolSchema[]): number {
  const step = Math.ceil(schemas.length / SAMPLE)
  const sample = schemas.filter((_, at) => at % step === 0)
  return averageOf(sample.map((schema) => estimateTokens(textOf(schema))))
}

function averageOf(tokens: readonly number[]): number {
  return tokens.length === 0 ? 0 : tokens.reduce((sum, each) => sum + each, 0) / tokens.length
}

/** A tool as a registry or a gateway shows it. */
interface Shown {
  readonly name?: unknown
  readonly description?: unknown
  readonly parameters?: unknown
  readonly inputSchema?: unknown
}

/** The text of a tool that a model reads. */
function textOf({ name, description, inputSchema, parameters = inputSchema }: Shown): string {
  return JSON.stringify({ name, description, parameters })
}

/** Counts exactly, but estimates texts that would block the process. */
async function boundedCounter(): Promise<TokenCounter> {
  const countTokens = await exactTokenCounter()
  return (text) => (text.length > MAX_EXACT_CHARACTERS ? estimateTokens(text) : countTokens(text))
}

function toRow(
  { name, description, source: kind, mcpServer, pluginId }: ToolSchema,
  tokens: number,
): ToolRow {
  const source = mcpServer ?? pluginId ?? 'builtin'
  const prefix = `mcp__${mcpServer}__`
  return {
    name,
    ownName: mcpServer !== undefined && name.startsWith(prefix) ? name.slice(prefix.length) : name,
    source,
    kind,
    summary:
      description.length > SUMMARY_CHARACTERS
        ? `${description.slice(0, SUMMARY_CHARACTERS).trimEnd()}…`
        : description,
    tokens,
  }
}

function isSame(first: ToolSchema, second: ToolSchema): boolean {
  return first.description === second.description && first.parameters === second.parameters
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

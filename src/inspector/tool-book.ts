import {
  estimateTokens,
  exactTokenCounter,
  type TokenCounter,
  type ToolRegistry,
  type ToolSchema,
} from 'toolcrib'

/** One tool as a line of a list. */
export interface ToolRow {
  readonly name: string
  /** The name within its source. */
  readonly ownName: string
  /** `builtin`, or the name of its server or plugin. */
  readonly source: string
  readonly kind: ToolSchema['source']
  readonly summary: string
  /** What a model reads for it, in tokens: the figure of `toolcrib list`. */
  readonly tokens: number
}

const SUMMARY_CHARACTERS = 140
/** Counting pauses after this many tools, so that ten thousand of them hold up nobody. */
const BATCH = 100
/** The exact counter takes seconds for long texts, and for long runs of one kind of character. */
const MAX_EXACT_CHARACTERS = 64_000
const LONG_RUN = /[\p{L}\p{M}\p{N}]{200}|[^\s\p{L}\p{N}]{200}|\s{200}/u

interface Counted {
  readonly schema: ToolSchema
  readonly tokens: number
  readonly countTokens: TokenCounter
}

/**
 * Every tool with its token cost; counted once for each definition. The exact counter is large, so it is loaded when
 * somebody looks; until then estimates serve for the average.
 */
export class ToolBook {
  readonly #registry: ToolRegistry
  #counted: ReadonlyMap<string, Counted> = new Map()
  #countTokens = estimateTokens
  #exact: Promise<TokenCounter> | undefined
  readonly #unsubscribe: () => void
  #rows: Promise<readonly ToolRow[]> | undefined
  /** Counts begun so far; an older one gives way to the newest. */
  #counts = 0
  #tokensPerTool = 0

  constructor(registry: ToolRegistry) {
    this.#registry = registry
    this.#unsubscribe = registry.subscribe(({ type }) => {
      if (type === 'server-synced' || type === 'tool-registered' || type === 'tool-unregistered')
        this.#rows = undefined
      // A search saves what its list leaves out, so the average must be known by then.
      if (type === 'server-synced' || type === 'session-opened') void this.#current()
    })
    void this.#current()
  }

  /** What a tool takes on average, as far as counted. */
  get tokensPerTool(): number {
    return this.#tokensPerTool
  }

  async rows(): Promise<readonly ToolRow[]> {
    this.#exact ??= boundedCounter()
    const exact = await this.#exact
    if (this.#countTokens !== exact) {
      this.#countTokens = exact
      this.#rows = undefined
    }
    return this.#current()
  }

  close(): void {
    this.#unsubscribe()
  }

  #current(): Promise<readonly ToolRow[]> {
    this.#rows ??= this.#count(this.#countTokens)
    return this.#rows
  }

  async #count(countTokens: TokenCounter): Promise<readonly ToolRow[]> {
    const own = ++this.#counts
    // Servers that start list their tools one after another: they are counted together.
    await pause()
    if (own !== this.#counts) return this.#current()
    const counted = new Map<string, Counted>()
    let fresh = 0
    for (const schema of this.#registry.listSchemas()) {
      const known = this.#counted.get(schema.name)
      if (known?.countTokens === countTokens && isSame(known.schema, schema)) {
        counted.set(schema.name, known)
        continue
      }
      if (++fresh % BATCH === 0) await pause()
      const { name, description, parameters } = schema
      const tokens = countTokens(JSON.stringify({ name, description, parameters }))
      counted.set(name, { schema, tokens, countTokens })
    }
    this.#counted = counted
    const rows = [...counted.values()].map(({ schema, tokens }) => toRow(schema, tokens))
    const total = rows.reduce((sum, { tokens }) => sum + tokens, 0)
    this.#tokensPerTool = rows.length === 0 ? 0 : total / rows.length
    return rows
  }
}

/** Counts exactly, but estimates texts that would hold up the process. */
async function boundedCounter(): Promise<TokenCounter> {
  const countTokens = await exactTokenCounter()
  return (text) =>
    text.length > MAX_EXACT_CHARACTERS || LONG_RUN.test(text) ? estimateTokens(text) : countTokens(text)
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
    summary: description.slice(0, SUMMARY_CHARACTERS),
    tokens,
  }
}

function isSame(first: ToolSchema, second: ToolSchema): boolean {
  return first.description === second.description && first.parameters === second.parameters
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

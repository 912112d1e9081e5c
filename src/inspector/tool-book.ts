import { estimateTokens, type ToolRegistry, type ToolSchema } from 'toolcrib'

/** One tool as a line of a list. */
export interface ToolRow {
  readonly name: string
  /** The name within its source. */
  readonly ownName: string
  /** `builtin`, or the name of its server or plugin. */
  readonly source: string
  readonly kind: ToolSchema['source']
  readonly summary: string
  /** What a model reads for it, in tokens; an estimate. */
  readonly tokens: number
}

const SUMMARY_CHARACTERS = 140
/** Counting pauses after this many tools, so that ten thousand of them hold up nobody. */
const BATCH = 100

/** Every tool with its token cost; counted once for each definition. */
export class ToolBook {
  readonly #registry: ToolRegistry
  #counted: ReadonlyMap<string, { readonly schema: ToolSchema; readonly tokens: number }> = new Map()
  readonly #unsubscribe: () => void
  #rows: Promise<readonly ToolRow[]> | undefined
  #tokensPerTool = 0

  constructor(registry: ToolRegistry) {
    this.#registry = registry
    this.#unsubscribe = registry.subscribe(({ type }) => {
      if (type === 'server-synced' || type === 'tool-registered' || type === 'tool-unregistered')
        this.#rows = undefined
      // A search saves what its list leaves out, so the average must be known by then.
      if (type === 'server-synced' || type === 'session-opened') void this.rows()
    })
    void this.rows()
  }

  /** What a tool takes on average, as far as counted. */
  get tokensPerTool(): number {
    return this.#tokensPerTool
  }

  rows(): Promise<readonly ToolRow[]> {
    this.#rows ??= this.#count()
    return this.#rows
  }

  close(): void {
    this.#unsubscribe()
  }

  async #count(): Promise<readonly ToolRow[]> {
    const counted = new Map<string, { readonly schema: ToolSchema; readonly tokens: number }>()
    let fresh = 0
    for (const schema of this.#registry.listSchemas()) {
      const known = this.#counted.get(schema.name)
      if (known && isSame(known.schema, schema)) {
        counted.set(schema.name, known)
        continue
      }
      if (++fresh % BATCH === 0) await pause()
      const { name, description, parameters } = schema
      const tokens = estimateTokens(JSON.stringify({ name, description, parameters }))
      counted.set(name, { schema, tokens })
    }
    this.#counted = counted
    const rows = [...counted.values()].map(({ schema, tokens }) => toRow(schema, tokens))
    const total = rows.reduce((sum, { tokens }) => sum + tokens, 0)
    this.#tokensPerTool = rows.length === 0 ? 0 : total / rows.length
    return rows
  }
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

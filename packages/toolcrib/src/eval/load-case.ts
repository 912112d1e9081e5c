import { readFile } from 'node:fs/promises'
import { type JsonSchema, type Listing, ToolcribError } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'

export interface EvalFiles {
  /** A file of lines `{ id, server?, name, description, inputSchema }`, or such tools. */
  readonly tools: string | readonly EvalTool[]
  /** A file of lines `{ id, query, relevant: [ids] }`. */
  readonly queries: string
  /**
   * Additional tools, to make it harder. Those with the name of a relevant tool and those that repeat a tool of the
   * catalogue are left out.
   */
  readonly distractors?: string
}

export interface EvalTool {
  readonly id: string
  readonly server?: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

export interface EvalQuery {
  readonly id: string
  readonly query: string
  readonly relevant: readonly string[]
}

export interface EvalCase {
  readonly tools: readonly EvalTool[]
  readonly queries: readonly EvalQuery[]
}

/** A past request, and the tools that were called for it. */
export interface PastRequest {
  readonly query: string
  readonly called: readonly string[]
}

/** Reads past use, lines of `{ query, called: [ids] }`; throws `config-invalid` for invalid content. */
export async function loadHistory(file: string): Promise<PastRequest[]> {
  return readLines(file, (line) => {
    const { query, called } = objectOf(line)
    if (typeof query !== 'string') throw new Error('a line of a history needs a "query", a string')
    if (!Array.isArray(called) || !called.every((id): id is string => typeof id === 'string'))
      throw new Error('a line of a history needs "called", a list of tool ids')
    return { query, called }
  })
}

/** Reads the files of a case; throws `config-invalid`, with file and line, for invalid content. */
export async function loadCase(options: EvalFiles): Promise<EvalCase> {
  const isFile = typeof options.tools === 'string'
  const tools = isFile ? await readLines(options.tools, toTool) : options.tools
  const queries = await readLines(options.queries, toQuery)
  const ids = new Map(tools.map((tool) => [tool.id, tool]))
  if (ids.size < tools.length) {
    const repeated = tools.find((tool) => ids.get(tool.id) !== tool)
    throw new ToolcribError(
      'config-invalid',
      `${isFile ? `${options.tools}: ` : ''}duplicate tool id "${repeated?.id}"; ids must be unique`,
    )
  }
  // A query without relevant tools has no recall.
  const toId = idResolver(tools)
  const labelled = queries
    .filter(({ relevant }) => relevant.length > 0)
    .map((query) => ({ ...query, relevant: query.relevant.map(toId) }))
  if (labelled.length === 0) {
    throw new ToolcribError('config-invalid', `${options.queries} has no query with relevant tools; add some`)
  }
  if (options.distractors === undefined) return { tools, queries: labelled }
  const taken = new Set(labelled.flatMap(({ relevant }) => relevant.map((id) => ids.get(id)?.name)))
  const distractors = await readLines(options.distractors, toTool)
  const others = distractors.filter(({ name }) => !taken.has(name))
  return { tools: withDistractors(tools, others), queries: labelled }
}

/** Maps `server.tool`, as the commands print it, to the id of a tool; other ids are unchanged. */
export function idResolver(tools: readonly EvalTool[]): (id: string) => string {
  const ids = new Set(tools.map(({ id }) => id))
  const shortNames = new Map(tools.map(({ id, server, name }) => [`${server}.${name}`, id]))
  return (id) => (ids.has(id) ? id : (shortNames.get(id) ?? id))
}

/**
 * Adds tools that are relevant to no query. A tool that repeats one of the catalogue (same name and description,
 * ignoring case and spaces) is left out: it would be as good as the original, but count as wrong.
 */
export function withDistractors(tools: readonly EvalTool[], distractors: readonly EvalTool[]): EvalTool[] {
  const known = new Set(tools.map(cloneKey))
  return [...tools, ...distractors.filter((tool) => !known.has(cloneKey(tool)))]
}

/** Equal for tools that differ only in case, spaces, server and parameters. */
export function cloneKey({ name, description }: EvalTool): string {
  const squeezed = (text: string) => text.toLowerCase().replace(/\s+/g, '')
  return `${squeezed(name)}\n${squeezed(description)}`
}

async function readLines<Item>(file: string, toItem: (line: unknown) => Item): Promise<Item[]> {
  const items: Item[] = []
  for (const [at, line] of (await readText(file)).split('\n').entries()) {
    if (line.trim() === '') continue
    try {
      items.push(toItem(JSON.parse(line)))
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ToolcribError('config-invalid', `${file}:${at + 1}: ${reason}`, { cause })
    }
  }
  return items
}

/** Throws `config-invalid` for a file that cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new ToolcribError('config-invalid', `cannot read ${file}; check the path`, { cause })
  }
}

function toTool(line: unknown): EvalTool {
  const { id, server, name, description, inputSchema } = objectOf(line)
  if (typeof id !== 'string' || typeof name !== 'string')
    throw new Error('a tool needs an "id" and a "name", both strings')
  if (server !== undefined && server !== null && typeof server !== 'string')
    throw new Error('"server" must be a string')
  return {
    id,
    name,
    ...(typeof server === 'string' ? { server } : {}),
    description: typeof description === 'string' ? description : '',
    inputSchema: isRecord(inputSchema) || typeof inputSchema === 'boolean' ? inputSchema : {},
  }
}

function toQuery(line: unknown): EvalQuery {
  const { id, query, relevant } = objectOf(line)
  if (typeof query !== 'string') throw new Error('a query needs a "query", a string')
  if (!Array.isArray(relevant) || !relevant.every((id): id is string => typeof id === 'string')) {
    throw new Error('a query needs "relevant", a list of tool ids')
  }
  return { id: typeof id === 'string' || typeof id === 'number' ? String(id) : query, query, relevant }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new Error('a line must be a JSON object')
  return value
}

/** One group per server, as in a registry; fills `idOf`, since names may repeat. */
export function toGroups(tools: readonly EvalTool[], idOf: Map<Listing, string>): Map<string, Listing[]> {
  const groups = new Map<string, Listing[]>()
  for (const { id, server, name, description, inputSchema } of tools) {
    const listing: Listing = {
      name: server === undefined ? name : `mcp__${server}__${name}`,
      ownName: name,
      description,
      inputSchema,
      source: server === undefined ? { kind: 'builtin' } : { kind: 'mcp', server },
      trust: 0,
    }
    idOf.set(listing, id)
    const key = server === undefined ? 'builtin' : `mcp:${server}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [listing])
    else group.push(listing)
  }
  return groups
}

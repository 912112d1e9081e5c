import type { SyncReport } from '../../events.ts'
import type { Finding } from '../../finding.ts'
import { canonicalJson, hashText, isRecord } from '../../json.ts'
import { matcher } from '../../registry/policy.ts'
import type { JsonSchema, Tool, ToolAnnotations, ToolContext } from '../../tool.ts'
import { SCAN_RULES } from '../scan/tool-scanner.ts'
import type { ServerState } from './managed-server.ts'
import type { ServerContext } from './server-context.ts'

/** A tool as a server lists it, with invalid fields corrected or omitted. */
export interface ServerTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: ToolAnnotations
  readonly _meta?: Readonly<Record<string, unknown>>
  /** The definition exactly as the server sent it, including unknown fields. */
  readonly listed?: Readonly<Record<string, unknown>>
}

/** A listed tool that cannot be used, and why. */
export interface UnusableTool {
  readonly tool: string
  readonly reason: string
}

/** The maximum number of tools per server; a server that lists more is generating them. */
const MAX_TOOLS = 50_000
/** Some servers list one tool per page. */
const MAX_PAGES = 20_000
const MAX_CHARACTERS = 32 * 1024 * 1024

/**
 * Lists every tool of a server, page by page. Unusable tools are returned separately. A repeated cursor ends the list
 * with the pages so far. Throws when a page is invalid, because the list is then unknown.
 */
export async function listTools(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
): Promise<{ tools: ServerTool[]; unusable: UnusableTool[]; warning?: string }> {
  const tools: ServerTool[] = []
  const unusable: UnusableTool[] = []
  const cursors = new Set<string>()
  let characters = 0
  for (let cursor: string | undefined; ; ) {
    const page = await requestPage(cursor)
    if (!isRecord(page) || !Array.isArray(page.tools))
      throw new Error('its tools/list response has no list of tools')
    characters += JSON.stringify(page).length
    if (characters > MAX_CHARACTERS)
      throw new Error(`its tools/list is longer than ${MAX_CHARACTERS} characters`)
    for (const listed of page.tools) {
      const tool = readServerTool(listed)
      if ('reason' in tool) unusable.push(tool)
      else tools.push(tool)
    }
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined
    if (cursor === undefined) return { tools, unusable }
    if (cursors.has(cursor)) return { tools, unusable, warning: CIRCLE }
    cursors.add(cursor)
    if (cursors.size > MAX_PAGES || tools.length > MAX_TOOLS)
      throw new Error(`its tools/list does not end after ${tools.length} tools`)
  }
}

const CIRCLE = 'its tools/list repeats a cursor; the pages before it are used'
const MAX_NAME_CHARACTERS = 200

/** Reads one listed tool leniently: rejects, with the reason, only a tool that cannot be called at all. */
export function readServerTool(listed: unknown): ServerTool | UnusableTool {
  if (!isRecord(listed)) return { tool: '(no name)', reason: 'it is not an object' }
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = listed
  if (typeof name !== 'string' || name === '') return { tool: '(no name)', reason: 'it has no name' }
  if (!isAbsent(inputSchema) && !isSchema(inputSchema))
    return { tool: name.slice(0, MAX_NAME_CHARACTERS), reason: 'its inputSchema is not a schema' }
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    description: typeof description === 'string' ? description : '',
    inputSchema: isSchema(inputSchema) ? inputSchema : { type: 'object' },
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations: readAnnotations(annotations) } : {}),
    ...(isRecord(_meta) ? { _meta } : {}),
    listed,
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value) || typeof value === 'boolean'
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function readAnnotations(annotations: Record<string, unknown>): ToolAnnotations {
  const hints = HINTS.filter((hint) => typeof annotations[hint] === 'boolean')
  return {
    ...(typeof annotations.title === 'string' ? { title: annotations.title } : {}),
    ...Object.fromEntries(hints.map((hint) => [hint, annotations[hint]])),
  }
}

/** What a scan found in the tools of one server, with the rules and definitions it used. */
export interface ScannedTools {
  readonly rules: string
  /** A hash of the definitions. */
  readonly definitions: string
  /** true: the definitions were read together with this hash, and are known to match it. */
  readonly isSealed?: boolean
  readonly findings: readonly Finding[]
}

/** One server's tools, and their registration. */
export class ListedTools {
  readonly #state: ServerState
  readonly #context: ServerContext
  readonly #isAllowed: ((name: string) => boolean) | undefined
  readonly #isDenied: ((name: string) => boolean) | undefined
  #tools: readonly ServerTool[] | undefined
  #hash: string | undefined

  constructor(state: ServerState, context: ServerContext) {
    this.#state = state
    this.#context = context
    this.#isAllowed = matcher(state.config.allow)
    this.#isDenied = matcher(state.config.deny)
  }

  /** All tools that it lists, before `allow` and `deny` apply; undefined until they are known. */
  get all(): readonly ServerTool[] | undefined {
    return this.#tools
  }

  /** A hash of these tools; undefined until they are known. */
  get hash(): string | undefined {
    return this.#hash
  }

  /** Replaces its tools in the registry; returns false if nothing changed. `scan` is the result of an earlier scan. */
  sync(tools: readonly ServerTool[], scan?: ScannedTools): boolean {
    const hash = scan?.isSealed && scan.rules === SCAN_RULES ? scan.definitions : hashOfTools(tools)
    if (hash === this.#hash) return false
    for (const { name, reason } of this.#register(tools))
      this.#state.emit({ type: 'tool-invalid', tool: this.#ownName(name), reason })
    this.#tools = tools
    this.#hash = hash
    const known = scan?.rules === SCAN_RULES && scan.definitions === hash ? scan.findings : undefined
    const report = (finding: Finding) => this.#state.emit({ type: 'tool-suspicious', finding })
    this.#context.scans.see({ server: this.#state.name, tools, known, report })
    return true
  }

  /** What the scan of the current tools found, for later starts; undefined until tools are known. */
  get scan(): ScannedTools | undefined {
    if (this.#hash === undefined) return undefined
    const findings = this.#context.scans.ownFindings(this.#state.name)
    return { rules: SCAN_RULES, definitions: this.#hash, findings }
  }

  /** Checks the registered tools against a new lockfile. */
  recheck(): void {
    if (this.#tools) this.#register(this.#tools)
  }

  /** Removes its tools from the registry and forgets them. */
  drop(): void {
    this.#tools = undefined
    this.#hash = undefined
    this.#context.registry.unregisterMcp(this.#state.name)
    this.#context.guard.forget(this.#state.name)
  }

  /** False for a tool that `allow` or `deny` excludes. */
  takes(tool: string): boolean {
    return this.#isAllowed?.(tool) !== false && this.#isDenied?.(tool) !== true
  }

  find(tool: string): ServerTool | undefined {
    return this.#tools?.find(({ name }) => name === tool)
  }

  /** True while the lockfile quarantines a tool. */
  get isHeld(): boolean {
    return (this.#tools ?? []).some(({ name }) => this.#heldBecause(name) !== undefined)
  }

  /** True when a list lacks or changes a tool in current use, as the list of a failing server may. */
  isLessThanBefore(tools: readonly ServerTool[]): boolean {
    const next = new Map(tools.map((tool) => [tool.name, tool]))
    const inUse = this.#tools?.filter(({ name }) => this.takes(name) && this.#heldBecause(name) === undefined)
    return (inUse ?? []).some((tool) => {
      const listed = next.get(tool.name)
      return !listed || canonicalJson(definitionOf(listed)) !== canonicalJson(definitionOf(tool))
    })
  }

  /** Why a tool must not be called, according to the lockfile and the last list. */
  refusalOf(tool: string): string | undefined {
    return this.#refusal(tool, this.find(tool) ? this.#heldBecause(tool) : NOT_LISTED)
  }

  /** Why a tool must not be called, according to the lockfile and a list that is not registered. */
  refusalIn(tools: readonly ServerTool[], tool: string): string | undefined {
    const listed = tools.find(({ name }) => name === tool)
    const { guard } = this.#context
    return this.#refusal(tool, listed ? guard.wouldHoldBecause(this.#state.name, listed) : NOT_LISTED)
  }

  #refusal(tool: string, reason: string | undefined): string | undefined {
    return reason && `calling "${tool}" of server "${this.#state.name}" is not permitted: ${reason}`
  }

  #heldBecause(tool: string): string | undefined {
    return this.#context.guard.heldBecause(this.#state.name, tool)
  }

  /** Returns the tools that could not be registered: names that are invalid or taken. */
  #register(tools: readonly ServerTool[]): SyncReport['skipped'] {
    const { guard, registry } = this.#context
    const { name: server, config } = this.#state
    const { lazy, pinned, trust } = config
    const taken = tools.filter(({ name }) => this.takes(name))
    const options = {
      ...(lazy === undefined ? {} : { lazy }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(trust === undefined ? {} : { trust }),
      approved: guard.isApproved(server),
    }
    return guard.sync(server, taken, (ordered) => {
      const callable = ordered.map((tool) => this.#toCallable(tool))
      return registry.syncMcp(server, callable, options).skipped
    })
  }

  #toCallable(tool: ServerTool): Tool {
    const { servers } = this.#context
    const { name: server, config } = this.#state
    const hint = Object.hasOwn(config.hints ?? {}, tool.name) ? config.hints?.[tool.name] : undefined
    return {
      ...definitionOf(tool),
      ...(hint === undefined ? {} : { searchHint: hint }),
      execute: async (input: unknown, ctx: ToolContext) => {
        // Another config may have replaced this server in the meantime.
        const current = servers.get(server)
        if (current) return current.call(tool, input, ctx)
        return {
          ok: false,
          code: 'not_available',
          error: `server "${server}" is disconnected: it was closed`,
        }
      },
      // Only the server's own deadline applies: it excludes the time a cold server takes to start, and progress
      // extends it.
      timeoutMs: 0,
    }
  }

  #ownName(name: string): string {
    const prefix = `mcp__${this.#state.name}__`
    return name.startsWith(prefix) ? name.slice(prefix.length) : name
  }
}

const NOT_LISTED = 'the server no longer lists it'

/** A hash of definitions: equal for equal lists. */
export function hashOfTools(tools: readonly ServerTool[]): string {
  return hashText(canonicalJson(tools.map(definitionOf)))
}

function definitionOf({ listed: _, ...definition }: ServerTool): Omit<ServerTool, 'listed'> {
  return definition
}

import { createHash } from 'node:crypto'
import type { Finding, SyncOptions, SyncReport, Tool, ToolContext, ToolResult } from '@toolcrib/core'
import { canonicalJson, mcpName, PermittingNames, RefusingNames, sharedSlices } from '@toolcrib/core/internal'
import type { ServersRegistry } from '../connect-options.ts'
import type { ScannedTools, ServerTool } from '../listed/server-tool.ts'
import type { LockGuard } from '../lock/lock-guard.ts'
import type { ServerScans } from '../scan/server-scans.ts'
import { SCAN_RULES } from '../scan/tool-scanner.ts'
import type { ServerState } from './server-state.ts'

/** Runs calls of registered tools. Implemented by `ServerHub`: another config may have replaced their server meanwhile. */
export interface ToolCaller {
  callTool(server: string, tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult>
}

/** Where tools are registered, and what approves, scans and calls them. */
export interface ListedToolsOptions {
  readonly registry: ServersRegistry
  readonly guard: LockGuard
  readonly scans: ServerScans
  readonly caller: ToolCaller
}

/** One server's tools, and their registration. */
export class ListedTools {
  readonly #state: ServerState
  readonly #shared: ListedToolsOptions
  readonly #allowed: PermittingNames | undefined
  readonly #denied: RefusingNames | undefined
  readonly #hashes = new DefinitionHashes()
  readonly #callable = new WeakMap<ServerTool, Tool>()
  #tools: readonly ServerTool[] | undefined
  #hash: string | undefined
  #scan: Promise<ScannedTools | undefined> = Promise.resolve(undefined)

  constructor(state: ServerState, shared: ListedToolsOptions) {
    this.#state = state
    this.#shared = shared
    const { allow, deny } = state.config
    this.#allowed = allow && new PermittingNames(allow)
    this.#denied = deny && new RefusingNames(deny)
  }

  /** All tools that it lists, before `allow` and `deny` apply; undefined until they are known. */
  get all(): readonly ServerTool[] | undefined {
    return this.#tools
  }

  /** A hash of these tools; undefined until they are known. */
  get hash(): string | undefined {
    return this.#hash
  }

  /**
   * Does in slices what takes long in `sync()`: hashes and copies each tool. Changes nothing, so that `sync()` does the same
   * without it.
   */
  async prepare(tools: readonly ServerTool[], scan?: ScannedTools): Promise<void> {
    const { guard, registry } = this.#shared
    if (!isSealed(scan)) await this.#hashes.prepare(tools)
    const hash = this.#hashOf(tools, scan)
    if (hash === this.#hash) return
    if (guard.isOn) await guard.prepare(tools, sharedSlices)
    const callable: Tool[] = []
    await sharedSlices.each(tools, (tool) => {
      if (this.takes(tool.name)) callable.push(this.#callableOf(tool))
    })
    await registry.prepareMcp?.(this.#state.name, callable, this.#syncOptions)
  }

  /**
   * Replaces its tools in the registry at once; returns false if nothing changed. `scan` is the result of an earlier
   * scan.
   */
  sync(tools: readonly ServerTool[], scan?: ScannedTools): boolean {
    const hash = this.#hashOf(tools, scan)
    if (hash === this.#hash) return false
    for (const { name, reason } of this.#register(tools))
      this.#state.emit({ type: 'tool-invalid', tool: this.#ownName(name), reason })
    this.#tools = tools
    this.#hash = hash
    const known = isCurrent(scan) && scan.definitions === hash ? scan.findings : undefined
    const report = (finding: Finding) => this.#state.emit({ type: 'tool-suspicious', finding })
    const scanning = this.#shared.scans.see({ server: this.#state.name, tools, known, report })
    const own = known ? Promise.resolve(known) : scanning
    this.#scan = own.then((findings) => findings && { rules: SCAN_RULES, definitions: hash, findings })
    return true
  }

  /** A hash of a list: that of the registered one if both are equal. */
  async hashOf(tools: readonly ServerTool[]): Promise<string> {
    await this.#hashes.prepare(tools)
    return this.#hashes.ofAll(tools)
  }

  /** What the scan of the current tools found, for later starts; undefined if there is none, or if it was not finished. */
  get scan(): Promise<ScannedTools | undefined> {
    return this.#scan
  }

  /** Checks the registered tools against a new lockfile. */
  recheck(): void {
    if (this.#tools) this.#register(this.#tools)
  }

  /** Removes its tools from the registry and forgets them. */
  drop(): void {
    this.#tools = undefined
    this.#hash = undefined
    this.#shared.registry.unregisterMcp(this.#state.name)
    this.#shared.guard.forget(this.#state.name)
  }

  /** False for a tool that `allow` or `deny` excludes. */
  takes(tool: string): boolean {
    const { name: server } = this.#state
    const named = { name: mcpName(tool, server), ownName: tool, source: { kind: 'mcp', server } } as const
    return this.#allowed?.has(named) !== false && this.#denied?.has(named) !== true
  }

  find(tool: string): ServerTool | undefined {
    return this.#tools?.find(({ name }) => name === tool)
  }

  /** True while the lockfile quarantines a tool. */
  get isHeld(): boolean {
    return (this.#tools ?? []).some(({ name }) => this.#heldBecause(name) !== undefined)
  }

  /** True when a list lacks or changes a tool in current use, as the list of a failing server may. */
  async isLessThanBefore(tools: readonly ServerTool[]): Promise<boolean> {
    await this.#hashes.prepare([...tools, ...(this.#tools ?? [])])
    const next = new Map(tools.map((tool) => [tool.name, tool]))
    const inUse = this.#tools?.filter(({ name }) => this.takes(name) && this.#heldBecause(name) === undefined)
    return (inUse ?? []).some((tool) => {
      const listed = next.get(tool.name)
      return !listed || this.#hashes.of(listed) !== this.#hashes.of(tool)
    })
  }

  /** Why a tool must not be called, according to the lockfile and the last list. */
  refusalOf(tool: string): string | undefined {
    return this.#refusal(tool, this.find(tool) ? this.#heldBecause(tool) : NOT_LISTED)
  }

  /** Why a tool must not be called, according to the lockfile and a list that is not registered. */
  refusalIn(tools: readonly ServerTool[], tool: string): string | undefined {
    const listed = tools.find(({ name }) => name === tool)
    const { guard } = this.#shared
    return this.#refusal(tool, listed ? guard.wouldHoldBecause(this.#state.name, listed) : NOT_LISTED)
  }

  #refusal(tool: string, reason: string | undefined): string | undefined {
    return reason && `calling "${tool}" of server "${this.#state.name}" is not permitted: ${reason}`
  }

  #heldBecause(tool: string): string | undefined {
    return this.#shared.guard.heldBecause(this.#state.name, tool)
  }

  /** Returns the tools that could not be registered: names that are invalid or taken. */
  #register(tools: readonly ServerTool[]): SyncReport['skipped'] {
    const { guard, registry } = this.#shared
    const { name: server } = this.#state
    const taken = tools.filter(({ name }) => this.takes(name))
    return guard.sync(server, taken, (ordered) => {
      const callable = ordered.map((tool) => this.#callableOf(tool))
      return registry.syncMcp(server, callable, this.#syncOptions).skipped
    })
  }

  get #syncOptions(): SyncOptions {
    const { lazy, pinned, trust } = this.#state.config
    return {
      ...(lazy === undefined ? {} : { lazy }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(trust === undefined ? {} : { trust }),
      approved: this.#shared.guard.isApproved(this.#state.name),
    }
  }

  #hashOf(tools: readonly ServerTool[], scan: ScannedTools | undefined): string {
    return isSealed(scan) ? scan.definitions : this.#hashes.ofAll(tools)
  }

  /** The same object each time, so that the registry recognises what it has prepared. */
  #callableOf(tool: ServerTool): Tool {
    const known = this.#callable.get(tool) ?? this.#toCallable(tool)
    this.#callable.set(tool, known)
    return known
  }

  #toCallable(tool: ServerTool): Tool {
    const { caller } = this.#shared
    const { name: server, config } = this.#state
    const hint = Object.hasOwn(config.hints ?? {}, tool.name) ? config.hints?.[tool.name] : undefined
    return {
      ...definitionOf(tool),
      ...(hint === undefined ? {} : { searchHint: hint }),
      execute: (input: unknown, ctx: ToolContext) => caller.callTool(server, tool, input, ctx),
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

/** Whether a scan used the rules of this release. */
function isCurrent(scan: ScannedTools | undefined): scan is ScannedTools {
  return scan?.rules === SCAN_RULES
}

function isSealed(scan: ScannedTools | undefined): scan is ScannedTools {
  return isCurrent(scan) && scan.isSealed === true
}

function definitionOf({ listed: _, ...definition }: ServerTool): Omit<ServerTool, 'listed'> {
  return definition
}

/** Hashes the definitions of tools, each once. */
class DefinitionHashes {
  readonly #known = new WeakMap<ServerTool, string>()

  /** Hashes each of these tools, in slices. */
  prepare(tools: readonly ServerTool[]): Promise<void> {
    return sharedSlices.each(tools, (tool) => this.of(tool))
  }

  /** A hash of one definition: equal for equal definitions. */
  of(tool: ServerTool): string {
    const known = this.#known.get(tool)
    if (known !== undefined) return known
    const { listed: _, ...definition } = tool
    const hash = sha256(canonicalJson(definition))
    this.#known.set(tool, hash)
    return hash
  }

  /** A hash of a list: equal for equal lists. */
  ofAll(tools: readonly ServerTool[]): string {
    return sha256(tools.map((tool) => this.of(tool)).join())
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

import type { SyncReport } from '../events.ts'
import { canonicalJson, hashText } from '../json.ts'
import { matcher } from '../registry/policy.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import type { ToolRegistry } from '../tool-registry.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { LockGuard } from './lock/lock-guard.ts'
import type { EmitMcp } from './mcp-event.ts'
import type { ServerTool } from './server-tool.ts'

/** What a server's tools are registered with. */
export interface ListingSurroundings {
  readonly registry: Pick<ToolRegistry, 'syncMcp' | 'unregisterMcp'>
  /** Holds the server to the lockfile, where there is one. */
  readonly guard: LockGuard
  readonly emit: EmitMcp
  /** Looks at its tools whenever they are other ones. */
  readonly onTools: (tools: readonly ServerTool[]) => void
  /** Runs a call on whichever server bears this one's name when the call comes. */
  readonly call: (tool: ServerTool, input: unknown, ctx: ToolContext) => Promise<ToolResult>
}

/** What one server lists, and its place in the registry. */
export class ListedTools {
  readonly #server: string
  readonly #config: ServerConfig
  readonly #around: ListingSurroundings
  readonly #isAllowed: ((name: string) => boolean) | undefined
  readonly #isDenied: ((name: string) => boolean) | undefined
  #tools: readonly ServerTool[] | undefined
  #hash: string | undefined

  constructor(server: string, config: ServerConfig, around: ListingSurroundings) {
    this.#server = server
    this.#config = config
    this.#around = around
    this.#isAllowed = matcher(config.allow)
    this.#isDenied = matcher(config.deny)
  }

  /** All it lists, before anything is left out; undefined until that is known. */
  get all(): readonly ServerTool[] | undefined {
    return this.#tools
  }

  /** Swaps its tools in the registry; false when they are what they were. */
  sync(tools: readonly ServerTool[]): boolean {
    const hash = hashText(canonicalJson(tools))
    if (hash === this.#hash) return false
    for (const { name, reason } of this.#register(tools))
      this.#around.emit({ type: 'tool-invalid', tool: this.#ownName(name), reason })
    this.#tools = tools
    this.#hash = hash
    this.#around.onTools(tools)
    return true
  }

  /** Holds what is registered to a lockfile that has just come into force. */
  recheck(): void {
    if (this.#tools) this.#register(this.#tools)
  }

  /** Takes its tools out of the registry, and forgets them. */
  drop(): void {
    this.#tools = undefined
    this.#hash = undefined
    this.#around.registry.unregisterMcp(this.#server)
    this.#around.guard.forget(this.#server)
  }

  /** False for a tool that `allow` or `deny` leaves out. */
  takes(tool: string): boolean {
    return this.#isAllowed?.(tool) !== false && this.#isDenied?.(tool) !== true
  }

  /** Why a tool must not be called, going by the lockfile and the list as it was read last. */
  refusalOf(tool: string): string | undefined {
    const isListed = this.#tools?.some(({ name }) => name === tool)
    const reason = isListed
      ? this.#around.guard.heldBecause(this.#server, tool)
      : 'the server does not list it any more'
    return reason && `calling "${tool}" of server "${this.#server}" is not permitted: ${reason}`
  }

  /** Answers what could not be registered: names that make no sense, or are taken. */
  #register(tools: readonly ServerTool[]): SyncReport['skipped'] {
    const { lazy, pinned, trust } = this.#config
    const { guard, registry, call } = this.#around
    const taken = tools.filter(({ name }) => this.takes(name))
    const options = {
      ...(lazy === undefined ? {} : { lazy }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(trust === undefined ? {} : { trust }),
    }
    const callable = taken.map((tool) => ({
      ...tool,
      execute: (input: unknown, ctx: ToolContext) => call(tool, input, ctx),
      // The server's own deadline rules alone: it does not count the time a cold server takes to start, and
      // progress extends it.
      timeoutMs: 0,
    }))
    return guard.sync(
      this.#server,
      callable,
      (ordered) => registry.syncMcp(this.#server, ordered, options).skipped,
    )
  }

  #ownName(name: string): string {
    const prefix = `mcp__${this.#server}__`
    return name.startsWith(prefix) ? name.slice(prefix.length) : name
  }
}

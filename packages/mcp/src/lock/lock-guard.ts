import type { ToolRegistry } from '@toolcrib/core'
import type { Slices } from '@toolcrib/core/internal'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerItem } from '../listed/server-item.ts'
import { firstOfEachName, type ServerTool } from '../listed/server-tool.ts'
import { commandChanges, entryChanges, type FieldChange, toolChanges } from './compare.ts'
import { ITEM_WORDS, itemName, itemsByKey, needsApproval } from './locked-item.ts'
import { type ListedTool, type LockedServer, type Lockfile, listedTool } from './lockfile.ts'
import { pinTo } from './package-runner.ts'

type GuardedRegistry = Pick<ToolRegistry, 'quarantine' | 'release' | 'sourceOf'>

/**
 * Enforces approvals: a server with an unapproved command is not started, and a tool whose definition differs from
 * the approved one is quarantined for as long as it differs; so are prompts, resources and templates. Without a lockfile nothing is checked.
 */
export class LockGuard {
  readonly #registry: GuardedRegistry
  /** Why tools are quarantined, by server and the server's own tool name. */
  readonly #held = new Map<string, ReadonlyMap<string, string>>()
  /** The quarantines currently applied to the registry. */
  readonly #applied = new Map<string, string>()
  #lockfile: Lockfile | undefined

  constructor(registry: GuardedRegistry, lockfile: Lockfile | undefined) {
    this.#registry = registry
    this.#lockfile = lockfile
  }

  /** False without a lockfile. */
  get isOn(): boolean {
    return this.#lockfile !== undefined
  }

  /** True when the current lockfile approves the server. */
  isApproved(server: string): boolean {
    return this.#lockfile?.servers.has(server) === true && this.#lockfile.exempt?.has(server) !== true
  }

  /** Returns the config with its package or image replaced by the approved one, so that no newer one is fetched. */
  pinned(server: string, config: ServerConfig): ServerConfig {
    const runs = this.isApproved(server) ? this.#lockfile?.servers.get(server)?.runs : undefined
    return runs === undefined ? config : pinTo(config, runs)
  }

  /** Replaces the lockfile. Registered tools are checked against it at the next sync. */
  replace(lockfile: Lockfile | undefined): void {
    this.#lockfile = lockfile
  }

  /** Why a server must not be started; undefined when it may. */
  refusal(server: string, config: ServerConfig): string | undefined {
    if (!this.#lockfile || this.#lockfile.exempt?.has(server)) return undefined
    const locked = this.#lockfile.servers.get(server)
    const step = `see "toolcrib diff", then "toolcrib approve ${server}"`
    const missing = this.#lockfile.missing?.get(server)
    if (missing !== undefined)
      return `a lockfile is required but ${missing} does not exist, so it was not started; write it with "toolcrib lock"`
    if (!locked) return `it is not in toolcrib.lock, so it was not started; ${step}`
    const moved = this.#lockfile.moved?.get(server)
    if (moved)
      return `it would run ${moved.after}, but ran ${moved.before} when it was approved, so it was not started; ${step}`
    const fields = commandChanges(locked, { config })
    if (fields.length === 0) return undefined
    return `its command changed since it was approved (${namesOf(fields)}), so it was not started; ${step}`
  }

  /**
   * Replaces a server's tools with `register`, and returns what that returns. Approved tools come first, so that an
   * unapproved tool never takes the registered name of an approved look-alike. Unapproved tools are quarantined before
   * they are registered, and approved ones are released only afterwards, so that no reader ever sees a tool that
   * should be quarantined. A tool that could not be registered does not affect tools of other servers.
   */
  sync<Listed extends ServerTool, Registered>(
    server: string,
    tools: readonly Listed[],
    register: (tools: readonly Listed[]) => Registered,
  ): Registered {
    const before = this.#held.get(server)
    const held = this.#reasons(server, tools)
    for (const [tool, reason] of held) this.#apply(registeredName(server, tool), reason)
    this.#held.set(server, held)
    const registered = register([
      ...tools.filter(({ name }) => !held.has(name)),
      ...tools.filter(({ name }) => held.has(name)),
    ])
    for (const tool of [...held.keys(), ...(before?.keys() ?? [])]) this.#settle(registeredName(server, tool))
    return registered
  }

  /** Hashes these tools in slices, so that `sync()` need not. */
  prepare(tools: readonly ServerTool[], slices: Slices): Promise<void> {
    return slices.each(tools, listedTool)
  }

  /** Why a tool of the last sync is quarantined; undefined when it is not. */
  heldBecause(server: string, tool: string): string | undefined {
    return this.#held.get(server)?.get(tool)
  }

  /** Why a tool with this definition would be quarantined; undefined when it would not. */
  wouldHoldBecause(server: string, tool: ServerTool): string | undefined {
    return this.#reasons(server, [tool]).get(tool.name)
  }

  /** Whether a server's approval also covers its instructions, prompts, resources and templates. */
  coversItems(server: string): boolean {
    return this.isApproved(server) && this.#lockfile?.servers.get(server)?.items !== undefined
  }

  /** Why a prompt, a resource, a template or instructions must not be shown or used; undefined when they may. */
  itemHeldBecause(server: string, item: ServerItem): string | undefined {
    const locked = this.coversItems(server) ? this.#lockfile?.servers.get(server)?.items : undefined
    if (!locked || !needsApproval(item)) return undefined
    const { kind, key } = item
    const listed = itemsByKey([item]).get(key)
    if (!listed) return `a ${ITEM_WORDS[kind]} that is nested so deeply cannot be approved`
    const approved = locked[kind].get(key)
    const step = `see "toolcrib diff", then "toolcrib approve ${itemName(server, kind, key)}"`
    if (!approved) return `it is not in toolcrib.lock; ${step}`
    const fields = entryChanges(approved, listed)
    return fields.length > 0 ? `it changed since it was approved (${partsOf(fields)}); ${step}` : undefined
  }

  /** Removes the quarantines of a server that is removed. */
  forget(server: string): void {
    const held = this.#held.get(server)
    this.#held.delete(server)
    for (const tool of held?.keys() ?? []) this.#settle(registeredName(server, tool))
  }

  /**
   * Quarantines a name exactly when the tool registered under it is quarantined. Only the registry knows which tool
   * that is: two servers may claim the same name (`a` with `b__c`, `a__b` with `c`).
   */
  #settle(name: string): void {
    const source = this.#registry.sourceOf(name)
    const reason =
      source?.kind === 'mcp'
        ? this.#held.get(source.server)?.get(name.slice(registeredName(source.server, '').length))
        : undefined
    if (reason !== undefined) this.#apply(name, reason)
    else if (this.#applied.delete(name)) this.#registry.release(name)
  }

  #apply(name: string, reason: string): void {
    if (this.#applied.get(name) === reason) return
    this.#applied.set(name, reason)
    this.#registry.quarantine(name, reason)
  }

  #reasons(server: string, tools: readonly ServerTool[]): Map<string, string> {
    const reasons = new Map<string, string>()
    if (!this.#lockfile || this.#lockfile.exempt?.has(server)) return reasons
    const locked = this.#lockfile.servers.get(server)
    for (const tool of firstOfEachName(tools).tools) {
      const reason = reasonAgainst(server, tool.name, listedTool(tool), locked)
      if (reason !== undefined) reasons.set(tool.name, reason)
    }
    return reasons
  }
}

function reasonAgainst(
  server: string,
  name: string,
  tool: ListedTool | undefined,
  locked: LockedServer | undefined,
): string | undefined {
  if (!tool) return 'its schema is too deeply nested to be approved'
  const approved = locked?.tools.get(name)
  const step = `see "toolcrib diff", then "toolcrib approve ${registeredName(server, name)}"`
  if (!locked || !approved) return `it is not in toolcrib.lock; ${step}`
  const fields = toolChanges(locked, approved, tool)
  return fields.length > 0 ? `it changed since it was approved (${partsOf(fields)}); ${step}` : undefined
}

/** Names only the parts of a definition that differ: their content is the server's own text, and a model reads this. */
function partsOf(fields: readonly FieldChange[]): string {
  if (fields[0]?.path === 'digest') return 'digest'
  return [...new Set(fields.map(({ path }) => path.split('.')[0]))].join(', ')
}

const MAX_NAMED = 3

function namesOf(fields: readonly FieldChange[]): string {
  const named = fields.slice(0, MAX_NAMED).map(({ path }) => path)
  const rest = fields.length - named.length
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ')
}

function registeredName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`
}

import type { ToolRegistry } from '../../tool-registry.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { commandChanges, type FieldChange, toolChanges } from './compare.ts'
import { type LockedServer, type Lockfile, toolsByName } from './lockfile.ts'

/**
 * Holds servers to what was approved: an unapproved command is not started, and a tool whose definition is not the
 * approved one is in quarantine for as long as that is so. Without a lockfile nothing is held back.
 */
export class LockGuard {
  readonly #registry: Pick<ToolRegistry, 'quarantine' | 'release'>
  readonly #held = new Map<string, ReadonlyMap<string, string>>()
  #lockfile: Lockfile | undefined

  constructor(registry: Pick<ToolRegistry, 'quarantine' | 'release'>, lockfile: Lockfile | undefined) {
    this.#registry = registry
    this.#lockfile = lockfile
  }

  /** False when there is nothing to hold servers to. */
  get isOn(): boolean {
    return this.#lockfile !== undefined
  }

  /** Puts another lockfile in force. What is registered is held to it when it is synced next. */
  replace(lockfile: Lockfile | undefined): void {
    this.#lockfile = lockfile
  }

  /** Why a server must not be started; undefined when it may. */
  refusal(server: string, config: ServerConfig): string | undefined {
    if (!this.#lockfile || this.#lockfile.exempt?.has(server)) return undefined
    const locked = this.#lockfile.servers.get(server)
    const step = `see "toolcrib diff", then "toolcrib approve ${server}"`
    if (!locked) return `it is not in toolcrib.lock, so it was not started; ${step}`
    const fields = commandChanges(locked, { config })
    if (fields.length === 0) return undefined
    return `its command changed since it was approved (${namesOf(fields)}), so it was not started; ${step}`
  }

  /**
   * Swaps a server's tools by `sync`. Those that are not approved are in quarantine before they are registered, and
   * those that are approved again come out only afterwards, so that no reader ever sees one that should be held back.
   */
  sync(server: string, tools: readonly ServerTool[], sync: () => void): void {
    const before = this.#held.get(server)
    const held = this.#reasons(server, tools)
    for (const [tool, reason] of held) {
      if (before?.get(tool) !== reason) this.#registry.quarantine(registeredName(server, tool), reason)
    }
    this.#held.set(server, held)
    sync()
    for (const tool of before?.keys() ?? []) {
      if (!held.has(tool)) this.#release(server, tool)
    }
  }

  /** Why a tool of the last sync is held back; undefined when it is not. */
  heldBecause(server: string, tool: string): string | undefined {
    return this.#held.get(server)?.get(tool)
  }

  /** Ends what is held of a server that goes. */
  forget(server: string): void {
    const held = this.#held.get(server)
    this.#held.delete(server)
    for (const tool of held?.keys() ?? []) this.#release(server, tool)
  }

  /** Two servers may have tools of one registered name (`a` with `b__c`, `a__b` with `c`): either hold keeps it in. */
  #release(server: string, tool: string): void {
    const name = registeredName(server, tool)
    for (const [other, held] of this.#held) {
      const prefix = registeredName(other, '')
      const reason = name.startsWith(prefix) ? held.get(name.slice(prefix.length)) : undefined
      if (reason === undefined) continue
      this.#registry.quarantine(name, reason)
      return
    }
    this.#registry.release(name)
  }

  #reasons(server: string, tools: readonly ServerTool[]): Map<string, string> {
    const reasons = new Map<string, string>()
    if (!this.#lockfile || this.#lockfile.exempt?.has(server)) return reasons
    const locked = this.#lockfile.servers.get(server)
    for (const [name, tool] of toolsByName(tools)) {
      const reason = reasonAgainst(server, name, tool, locked)
      if (reason !== undefined) reasons.set(name, reason)
    }
    return reasons
  }
}

function reasonAgainst(
  server: string,
  name: string,
  tool: Parameters<typeof toolChanges>[1],
  locked: LockedServer | undefined,
): string | undefined {
  const approved = locked?.tools.get(name)
  const step = `see "toolcrib diff", then "toolcrib approve ${registeredName(server, name)}"`
  if (!approved) return `it is not in toolcrib.lock; ${step}`
  const fields = toolChanges(approved, tool)
  return fields.length > 0 ? `it changed since it was approved (${partsOf(fields)}); ${step}` : undefined
}

/** Only which parts of a definition differ: what lies inside them are the server's words, and a model reads this. */
function partsOf(fields: readonly FieldChange[]): string {
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

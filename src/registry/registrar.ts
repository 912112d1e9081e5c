import { ToolcribError } from '../errors.ts'
import type { Emit, SyncReport } from '../events.ts'
import { checkName, sourceKey } from '../names.ts'
import type { Tool } from '../tool.ts'
import type { Catalogue } from './catalogue.ts'
import type { Entry } from './entry.ts'
import {
  checkRegisterOptions,
  checkSyncOptions,
  localEntry,
  mcpEntries,
  mcpEntry,
  type RegisterOptions,
  type SyncOptions,
} from './to-entry.ts'

/** Changes the catalogue, and raises an event for each change. */
export class Registrar {
  readonly #catalogue: Catalogue
  readonly #emit: Emit

  constructor(catalogue: Catalogue, emit: Emit) {
    this.#catalogue = catalogue
    this.#emit = emit
  }

  register(tool: Tool, options: RegisterOptions): void {
    checkRegisterOptions(options)
    this.#add(localEntry(tool, options), options.replace === true)
  }

  registerAll(tools: readonly Tool[]): void {
    requireList(tools, 'registerAll')
    const entries = tools.map((tool) => localEntry(tool, {}))
    this.#catalogue.addAll(entries)
    for (const { name, source } of entries) this.#emit({ type: 'tool-registered', name, source })
  }

  registerMcp(tool: Tool, server: string): void {
    checkName(server, 'server name')
    this.#add(mcpEntry(tool, server), false)
  }

  syncMcp(server: string, tools: readonly Tool[], options: SyncOptions): SyncReport {
    requireList(tools, 'syncMcp')
    checkSyncOptions(options)
    const { entries, skipped } = mcpEntries(tools, server, options)
    const swapped = this.#catalogue.replaceSource(sourceKey({ kind: 'mcp', server }), entries)
    const report = { ...swapped, skipped: [...skipped, ...swapped.skipped] }
    for (const skip of report.skipped) this.#emit({ type: 'tool-skipped', server, ...skip })
    this.#emit({ type: 'server-synced', server, ...report })
    return report
  }

  unregister(name: string): boolean {
    const entry = this.#catalogue.remove(name)
    if (entry) this.#emit({ type: 'tool-unregistered', name, source: entry.source })
    return entry !== undefined
  }

  unregisterMcp(server: string | undefined): number {
    const removed = this.#catalogue
      .snapshot()
      .sorted.filter(
        ({ source }) => source.kind === 'mcp' && (server === undefined || source.server === server),
      )
    for (const key of new Set(removed.map(({ source }) => sourceKey(source))))
      this.#catalogue.replaceSource(key, [])
    for (const { name, source } of removed) this.#emit({ type: 'tool-unregistered', name, source })
    return removed.length
  }

  quarantine(name: string, reason: string): void {
    this.#catalogue.quarantine(name, reason)
    this.#emit({ type: 'tool-quarantined', name, reason })
  }

  release(name: string): boolean {
    const wasHeld = this.#catalogue.release(name)
    if (wasHeld) this.#emit({ type: 'tool-released', name })
    return wasHeld
  }

  /** Takes over what another catalogue holds, without the tools of MCP servers. Raises no events. */
  copyLocal(from: Catalogue): void {
    const { sorted, quarantined } = from.snapshot()
    this.#catalogue.addAll(sorted.filter(({ source }) => source.kind !== 'mcp'))
    for (const [name, reason] of quarantined) this.#catalogue.quarantine(name, reason)
  }

  #add(entry: Entry, replace: boolean): void {
    this.#catalogue.add(entry, { replace })
    this.#emit({ type: 'tool-registered', name: entry.name, source: entry.source })
  }
}

function requireList(tools: unknown, method: string): void {
  if (Array.isArray(tools)) return
  throw new ToolcribError('config-invalid', `${method}() takes an array of tools`)
}

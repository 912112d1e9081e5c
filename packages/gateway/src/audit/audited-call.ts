import type { CallExecutor, ExecutedCall, ToolContext, ToolRegistry, ToolResult } from '@toolcrib/core'
import { canonicalJson, isSearchTool, maskArguments } from '@toolcrib/core/internal'
import { type ClientLine, clientName } from '../asks/client-line.ts'
import { definitionHash, sha256 } from '../definition-hash.ts'
import type { GatewayTime } from '../gateway-options.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { AuditEntry, AuditLog } from './audit-log.ts'
import { emitLogRecord } from './log-record.ts'
import { type AuditCheck, readAudit, verifyAudit } from './read-audit.ts'

/** Who calls. */
export interface Caller {
  readonly who: string
  readonly client?: string | undefined
  readonly profile?: string | undefined
}

export function callerOf({ principal, view }: ClientSession, line: ClientLine): Caller {
  return { who: principal?.name ?? line.principal, client: clientName(line), profile: view.profile }
}

/** What was decided about a call, and by whom. */
export type Decision = Pick<AuditEntry, 'decision' | 'by'>

/** A call by the registered name of its tool; of one that began a task, the digest of its arguments is left. */
type NamedCall = Pick<ExecutedCall, 'name' | 'args'> | { readonly name: string; readonly digest: string }

/** Records the calls of one gateway and its page. */
export class Auditor {
  /** Whether a call that cannot be recorded must not run. */
  readonly isRequired: boolean
  /** The time in milliseconds. */
  readonly now: () => number
  readonly #log: AuditLog
  readonly #registry: ToolRegistry
  readonly #warn: (warning: string) => void
  /** One warning is enough until a line can be written again. */
  #isFailing = false

  constructor(
    log: AuditLog,
    registry: ToolRegistry,
    { now, warn }: Pick<GatewayTime, 'now'> & { readonly warn: (warning: string) => void },
  ) {
    this.isRequired = log.options.required === true
    this.#log = log
    this.#registry = registry
    this.now = now
    this.#warn = warn
  }

  /** Writes a line, and returns whether it could. */
  write(call: NamedCall, rest: Caller & Decision & Pick<AuditEntry, 'outcome' | 'durationMs'>): boolean {
    const { name } = call
    const { who, client, profile, ...more } = rest
    const tool = this.#registry.get(name)
    try {
      const entry = {
        at: new Date(this.now()).toISOString(),
        who,
        ...(client === undefined ? {} : { client: client.slice(0, MAX_NAME) }),
        ...(profile === undefined ? {} : { profile }),
        tool: name.slice(0, MAX_NAME),
        ...(tool ? { definition: definitionHash(tool) } : {}),
        digest: 'digest' in call ? call.digest : digestOf(call.args),
        ...('args' in call && this.#log.options.arguments === true
          ? { arguments: maskArguments(call.args) }
          : {}),
        ...more,
      }
      this.#log.write(entry)
      emitLogRecord(entry)
      this.#isFailing = false
      return true
    } catch (error) {
      if (!this.#isFailing) this.#warn(`calls cannot be recorded: ${String(error)}`)
      this.#isFailing = true
      return false
    }
  }

  /** Opens the record of one call, which runs with `executor`, or as its tool says. Searches are not recorded. */
  open(call: NamedCall, from: CallOrigin): AuditedCall | undefined {
    return isSearchTool(call.name) ? undefined : new AuditedCall(this, call, from)
  }

  /** The latest recorded calls, the oldest first. */
  list(limit: number): Promise<readonly AuditEntry[]> {
    return readAudit(this.#log.options.directory, { limit })
  }

  /** Checks the whole record, as `verifyAudit()` does. */
  verify(): Promise<AuditCheck> {
    return verifyAudit(this.#log.options.directory)
  }

  /** Closes the files. The next call opens others. */
  close(): void {
    this.#log.close()
  }
}

/** Who makes a call, what is decided about it, and what runs it. */
interface CallOrigin {
  readonly caller: Caller
  readonly asked: { readonly decided: Decision }
  readonly executor?: CallExecutor
}

const MAX_NAME = 200

/** One call in the record. Runs it with the executor that it is given, or leaves it to the tool. */
export class AuditedCall implements CallExecutor {
  readonly #auditor: Auditor
  readonly #caller: Caller
  readonly #asked: { readonly decided: Decision }
  readonly #executor: CallExecutor | undefined
  readonly #startedAt: number
  #call: NamedCall

  constructor(auditor: Auditor, call: NamedCall, from: CallOrigin) {
    this.#auditor = auditor
    this.#call = call
    this.#caller = from.caller
    this.#asked = from.asked
    this.#executor = from.executor
    this.#startedAt = auditor.now()
  }

  execute(call: ExecutedCall, context: ToolContext): ToolResult | Promise<ToolResult> | undefined {
    // With the arguments that hooks left.
    this.#call = call
    const started = { ...this.#caller, ...this.#asked.decided, outcome: 'started' }
    if (this.#auditor.isRequired && !this.#auditor.write(call, started)) return notRecorded(call.name)
    return this.#executor?.execute(call, context) as ToolResult | Promise<ToolResult> | undefined
  }

  /** Writes how the call ended. */
  ended(result: ToolResult, outcome = result.ok ? 'ok' : result.code): void {
    const durationMs = this.#auditor.now() - this.#startedAt
    this.#auditor.write(this.#call, {
      ...this.#caller,
      ...(outcome === 'not_available' ? REFUSED : this.#asked.decided),
      outcome,
      durationMs,
    })
  }
}

/** SHA-256 of arguments, whatever the order of their keys. */
export function digestOf(args: unknown): string {
  return sha256(canonicalJson(args))
}

const REFUSED: Decision = { decision: 'deny', by: 'policy' }

function notRecorded(tool: string): ToolResult {
  const error = `the call of "${tool}" cannot be recorded, and this gateway runs no call without a record. Nothing was run; tell the user.`
  return { ok: false, code: 'denied', error }
}

import type { CallContext, CallEnvironment, CallSettings, CallTarget } from './call/call-environment.ts'
import { CallRunner } from './call/call-runner.ts'
import { readSessionId } from './call/read-context.ts'
import type { CallGate } from './call-gate.ts'
import { isRecord } from './json.ts'
import { readResult } from './meta-tools/read-result.ts'
import type { Snapshot } from './registry/catalogue.ts'
import { Entry } from './registry/entry.ts'
import type { CallSession } from './session/session-host.ts'
import { metaToolEntry } from './session-opener.ts'
import type { CallResult, Tool, ToolCall } from './tool.ts'

/** What every call of a registry runs under. */
export interface ToolCallerOptions {
  readonly settings: CallSettings
  readonly now: () => number
  /** A few permitted names close to one that is not there. */
  suggest(name: string, isPermitted: (entry: Entry) => boolean): readonly string[]
}

/** Runs the calls of one registry, for a session or without one. */
export class ToolCaller {
  readonly #settings: CallSettings
  readonly #settingsWithoutSpill: CallSettings
  readonly #suggest: ToolCallerOptions['suggest']
  readonly #runner: CallRunner

  constructor({ now, settings, suggest }: ToolCallerOptions) {
    this.#settings = settings
    this.#settingsWithoutSpill = { ...settings, spill: undefined }
    this.#suggest = suggest
    this.#runner = new CallRunner({ now })
  }

  /** Runs calls against a snapshot, within a gate. Never throws. */
  async execute(
    calls: readonly ToolCall[],
    ctx: CallContext,
    { snapshot, gate }: { readonly snapshot: Snapshot; readonly gate: CallGate },
  ): Promise<CallResult[]> {
    const sessionId = readSessionId(ctx)
    const reader = this.#resultReader(sessionId)
    const canRead = gate.denialOfMetaTool('read_result') === undefined
    return this.#run(calls, ctx, {
      settings: this.#settingsFor(canRead),
      resolve: ({ name, args }) => {
        const entry = snapshot.get(name) ?? (name === 'read_result' ? reader : undefined)
        if (!entry) this.#settings.emit({ type: 'missed', what: 'name', text: name, sessionId })
        return entry && { tool: entry.tool, source: entry.source, args, registration: entry }
      },
      suggest: (name) => this.#suggest(name, (entry) => gate.denial(entry) === undefined),
      denial: ({ tool }) => {
        const entry = snapshot.get(tool.name)
        if (entry) return gate.denial(entry)
        return tool === reader?.tool ? gate.denialOfMetaTool(tool.name) : 'its removal from the registry'
      },
    })
  }

  /** Runs the calls of a session, which knows what they mean there. */
  executeIn(
    { view, ...session }: CallSession,
    calls: readonly ToolCall[],
    ctx: CallContext,
  ): Promise<CallResult[]> {
    const reader = this.#resultReader(ctx.sessionId)
    const canRead = reader !== undefined && session.denial({ ...reader, args: {} }) === undefined
    const suggest = (name: string) => this.#suggest(name, (entry) => view.denial(entry) === undefined)
    return this.#run(calls, ctx, { ...session, suggest, settings: this.#settingsFor(canRead) })
  }

  /** Results that hold the words of servers that nobody vouches for are marked. */
  async #run(
    calls: readonly ToolCall[],
    ctx: CallContext,
    environment: CallEnvironment,
  ): Promise<CallResult[]> {
    const keys = new Map<CallTarget, string>()
    const used = new Map<string, Entry>()
    const results = await this.#runner.execute(calls, ctx, {
      ...environment,
      resolve: (call) => {
        const target = environment.resolve(call)
        if (target) keys.set(target, callKey(call))
        return target
      },
      // Before that, and in a dry run, the answer is ours; after it even an error about arguments quotes the schema.
      onUse: (target) => {
        const { registration } = target
        if (registration instanceof Entry) used.set(keys.get(target) ?? '', registration)
        environment.onUse?.(target)
      },
    })
    return results.map((result) => {
      const entry = used.get(callKey(result))
      const [server, ...more] = entry ? untrustedServers(entry, result, environment) : []
      if (server === undefined) return result
      return {
        ...result,
        untrusted: more.length === 0 ? { server } : { server, servers: [server, ...more] },
      }
    })
  }

  /** Nobody is pointed to a reader that may not be used. */
  #settingsFor(canRead: boolean): CallSettings {
    return canRead ? this.#settings : this.#settingsWithoutSpill
  }

  /** `read_result` for calls outside of a session object; undefined without a spill. */
  #resultReader(sessionId: string): Entry | undefined {
    const { spill } = this.#settings
    return spill && metaToolEntry(readResult({ spill, sessionId }) as Tool)
  }
}

/** Of two calls with one id and one name, what holds for one is taken to hold for both. */
function callKey({ toolCallId, name }: Pick<ToolCall, 'toolCallId' | 'name'>): string {
  return `${toolCallId} ${name}`
}

/** The servers whose words an answer holds: the tool's own, or those whose tools a meta-tool describes. */
function untrustedServers(
  entry: Entry,
  { result }: CallResult,
  { resolve }: Pick<CallEnvironment, 'resolve'>,
): readonly string[] {
  if (entry.untrustedServer !== undefined) return [entry.untrustedServer]
  if (!entry.isSelfLimiting || !result.ok) return []
  const servers = new Set<string>()
  for (const name of describedNames(result.structured)) {
    const described = resolve({ toolCallId: '', name, args: {} })?.registration
    if (described instanceof Entry && described.untrustedServer !== undefined)
      servers.add(described.untrustedServer)
  }
  return [...servers].sort()
}

/** The tools that the answer of a search tool describes, whichever form of search it is. */
function describedNames(answer: unknown): readonly string[] {
  if (!isRecord(answer)) return []
  const listed = answer.matches ?? answer.tools ?? (answer.activated === true ? [answer] : [])
  if (!Array.isArray(listed)) return []
  return listed.flatMap((item) => (isRecord(item) && typeof item.name === 'string' ? [item.name] : []))
}

import type { CallContext, CallEnvironment, CallSettings } from './call/call-environment.ts'
import { CallRunner } from './call/call-runner.ts'
import { readSessionId } from './call/read-context.ts'
import type { CallGate } from './call-gate.ts'
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

  /** Results that hold the words of a server that nobody vouches for are marked. */
  async #run(
    calls: readonly ToolCall[],
    ctx: CallContext,
    environment: CallEnvironment,
  ): Promise<CallResult[]> {
    const servers = new Map<string, string>()
    const results = await this.#runner.execute(calls, ctx, {
      ...environment,
      resolve: (call) => {
        const target = environment.resolve(call)
        const entry = target?.registration
        if (entry instanceof Entry && entry.untrustedServer !== undefined)
          servers.set(callKey(call), entry.untrustedServer)
        return target
      },
    })
    if (servers.size === 0) return results
    return results.map((result) => {
      const server = servers.get(callKey(result))
      return server === undefined ? result : { ...result, untrusted: { server } }
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

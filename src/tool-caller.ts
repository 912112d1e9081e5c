import type { CallContext, CallEnvironment } from './call/call-environment.ts'
import { CallRunner } from './call/call-runner.ts'
import { readContext } from './call/read-context.ts'
import { readResult } from './meta-tools/read-result.ts'
import type { Snapshot } from './registry/catalogue.ts'
import type { Entry } from './registry/entry.ts'
import type { CompiledPolicy } from './registry/policy.ts'
import type { CallSession } from './session/session-host.ts'
import { metaToolEntry } from './session-opener.ts'
import type { CallResult, Tool, ToolCall } from './tool.ts'

/** Which gate keeps a tool, or a meta-tool, from being called. */
export type CallGate = Pick<CompiledPolicy, 'denial' | 'denialOfMetaTool'>

/** What every call of a registry runs under. */
export interface ToolCallerOptions
  extends Pick<
    CallEnvironment,
    | 'backends'
    | 'hooks'
    | 'reducers'
    | 'spill'
    | 'timeoutMs'
    | 'resultBudgetChars'
    | 'maxIdenticalCalls'
    | 'isAvailable'
    | 'emit'
  > {
  readonly now: () => number
  /** A few permitted names close to one that is not there. */
  suggest(name: string, isPermitted: (entry: Entry) => boolean): readonly string[]
}

/** Runs the calls of one registry, for a session or without one. */
export class ToolCaller {
  readonly #options: ToolCallerOptions
  readonly #runner: CallRunner

  constructor({ now, ...options }: ToolCallerOptions) {
    this.#options = { now, ...options }
    this.#runner = new CallRunner({ now })
  }

  /** Runs calls against a snapshot, within a gate. Never throws. */
  async execute(
    calls: readonly ToolCall[],
    ctx: CallContext,
    { snapshot, gate }: { readonly snapshot: Snapshot; readonly gate: CallGate },
  ): Promise<CallResult[]> {
    const context = readContext(ctx)
    const { sessionId = '' } = context
    const { emit, suggest } = this.#options
    const reader = this.#resultReader(sessionId)
    const canRead = gate.denialOfMetaTool('read_result') === undefined
    return this.#runner.execute(
      calls,
      { sessionId, ...context },
      {
        ...this.#environment(canRead),
        resolve: ({ name, args }) => {
          const entry = snapshot.get(name) ?? (name === 'read_result' ? reader : undefined)
          if (!entry) emit({ type: 'missed', what: 'name', text: name, sessionId })
          return entry && { tool: entry.tool, source: entry.source, args, registration: entry }
        },
        suggest: (name) => suggest(name, (entry) => gate.denial(entry) === undefined),
        denial: ({ tool }) => {
          const entry = snapshot.get(tool.name)
          if (entry) return gate.denial(entry)
          return tool === reader?.tool ? gate.denialOfMetaTool(tool.name) : 'its removal from the registry'
        },
      },
    )
  }

  /** Runs the calls of a session, which knows what they mean there. */
  executeIn(
    { view, ...session }: CallSession,
    calls: readonly ToolCall[],
    ctx: CallContext,
  ): Promise<CallResult[]> {
    const reader = this.#resultReader(ctx.sessionId)
    const canRead = reader !== undefined && session.denial({ ...reader, args: {} }) === undefined
    const suggest = (name: string) => this.#options.suggest(name, (entry) => view.denial(entry) === undefined)
    return this.#runner.execute(calls, ctx, { ...this.#environment(canRead), ...session, suggest })
  }

  #environment(canRead: boolean): Omit<CallEnvironment, 'resolve' | 'suggest' | 'denial'> {
    // Nobody is pointed to a reader that may not be used.
    return { ...this.#options, spill: canRead ? this.#options.spill : undefined }
  }

  /** `read_result` for calls outside of a session object; undefined without a spill. */
  #resultReader(sessionId: string): Entry | undefined {
    const { spill } = this.#options
    return spill && metaToolEntry(readResult({ spill, sessionId }) as Tool)
  }
}

import type { AskAnswer, AskRequest, CallContext, ToolResult } from '@toolcrib/core'
import {
  type CallTarget,
  type Entry,
  type EventBody,
  isReadOnly,
  type ScriptPowers,
  type SessionScope,
  typesOf,
} from '@toolcrib/core/internal'
import type { CallOutcome, ScriptCall, ScriptCallOptions, ScriptHost, ScriptTool } from './script-host.ts'

const MAX_FOUND = 8
const WAITING: ToolResult = { ok: false, code: 'waiting', error: 'it waits for a person' }
const NOT_ASKED: ToolResult = {
  ok: false,
  code: 'denied',
  error: 'this call needs a person, who was not asked when the saved script began',
}
const CHANGED: ToolResult = {
  ok: false,
  code: 'denied',
  error:
    'a hook changed what a person had approved, and nobody can be asked again. Nothing was run; tell the user.',
}

/** What one script makes its calls with. */
interface Calling {
  /** The tools of a saved script, and whether a person was asked about them, all at once. */
  readonly saved?: { readonly uses: readonly string[]; readonly isApproved: boolean } | undefined
  readonly context: Partial<CallContext>
  readonly signal: AbortSignal
  scope(): SessionScope
}

/** The calls of one script: ordinary calls of the session, except that they check nothing out and are not reduced. */
export class ScriptCalls implements ScriptHost {
  readonly sessionId: string
  readonly signal: AbortSignal
  readonly #powers: ScriptPowers
  readonly #calling: Calling

  constructor(powers: ScriptPowers, calling: Calling) {
    this.sessionId = powers.sessionId
    this.signal = calling.signal
    this.#powers = powers
    this.#calling = calling
  }

  get isDryRun(): boolean {
    return this.#calling.context.dryRun === true
  }

  get isTransient(): boolean {
    return this.isDryRun || this.#calling.saved !== undefined
  }

  resolve(path: string): ScriptTool | { readonly problem: string } {
    const target = this.#target(path)
    const { saved } = this.#calling
    if (saved && target && !saved.uses.includes(target.entry.name))
      return { problem: `this saved script may not call "${path}": its code does not name it` }
    if (target) return scriptTool(target.entry, () => typesOf([target.entry])[0]?.types ?? '')
    const [close, ...more] = this.#calling.scope().suggest(path)
    const hint =
      close === undefined
        ? 'find one with await tools.search("…")'
        : `did you mean ${[close, ...more].join(' or ')}?`
    return { problem: `there is no tool "${path}"; ${hint}` }
  }

  asks(name: string): boolean {
    const target = this.isTransient ? undefined : this.#target(name)
    return target !== undefined && this.#calling.scope().asks(target)
  }

  async call(
    { toolCallId, name, args }: ScriptCall,
    { isGranted, maxChars, signal }: ScriptCallOptions,
  ): Promise<CallOutcome> {
    let isHeld = false
    const target = this.isDryRun ? this.#target(name) : undefined
    const isRead = target !== undefined && isReadOnly(target.entry.tool)
    let granted: string | undefined
    const { saved } = this.#calling
    const onAsk = async ({ calls: [asked] }: AskRequest): Promise<AskAnswer> => {
      if (saved) return saved.isApproved ? 'once' : { result: NOT_ASKED }
      if (!isGranted) {
        isHeld = true
        return { result: WAITING }
      }
      granted ??= asked?.digest
      if (granted === asked?.digest) return 'once'
      // A hook changed the arguments that the person was shown.
      const [changed = 'gone'] = (await this.ask([{ toolCallId, name, args: asked?.args }])) ?? []
      return changed === 'gone' ? { result: CHANGED } : changed
    }
    // A sub-agent that a script starts cannot pause: the script could not go on from there.
    const { pausing: _, ...context } = {
      ...{ ...this.#context, signal, onAsk },
      ...{ resultBudgetChars: maxChars, reduce: false },
      dryRun: this.isDryRun && !isRead,
    }
    const calls = [{ toolCallId, name, args }]
    const [answered] = await this.#powers.runner.execute(calls, context, this.#calling.scope())
    if (isHeld || answered === undefined) return { isHeld: true }
    return { isHeld: false, result: answered.result }
  }

  async ask(calls: readonly ScriptCall[]): Promise<readonly (AskAnswer | 'gone')[] | undefined> {
    const asked = calls.flatMap(({ toolCallId, name, args }) => {
      const target = this.#target(name)
      return target ? [{ toolCallId, target: { ...target, args }, args }] : []
    })
    if (asked.length === 0) return calls.map(() => 'gone')
    const context = { ...this.#context, signal: this.signal }
    const answers = await this.#powers.runner.ask(asked, context, this.#calling.scope())
    const ids = asked.map(({ toolCallId }) => toolCallId)
    return answers && calls.map(({ toolCallId }) => answers[ids.indexOf(toolCallId)] ?? 'gone')
  }

  async search(request: string): Promise<readonly ScriptTool[]> {
    const waitMs = this.#powers.searchLimit.take()
    if (waitMs > 0) throw new Error(`too many searches; search again in ${Math.ceil(waitMs / 1000)} s`)
    const { matches } = await this.#powers.searches.all(request, { limit: MAX_FOUND })
    const entries = matches.flatMap(({ name }) => this.#target(name)?.entry ?? [])
    const types = typesOf(entries)
    return entries.map((entry, at) => scriptTool(entry, () => types[at]?.types ?? ''))
  }

  emit(event: EventBody): void {
    this.#powers.emit(event)
  }

  get #context(): Partial<CallContext> {
    const { lateResult: _, ...context } = this.#calling.context
    return { ...context, sessionId: this.sessionId }
  }

  #target(path: string): CallTarget | undefined {
    const call = { toolCallId: '', name: path, args: {} }
    const { hideDenied = false } = this.#calling.context
    return this.#calling.scope().resolve(call, { hidesDenied: hideDenied })
  }
}

function scriptTool({ name, definition, tool, fingerprint }: Entry, types: () => string): ScriptTool {
  return { name, description: definition.description, types, isReadOnly: isReadOnly(tool), fingerprint }
}

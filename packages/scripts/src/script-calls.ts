import type { AskAnswer, AskRequest, CallContext, ToolResult } from '@toolcrib/core'
import {
  type CallTarget,
  type Entry,
  type EventBody,
  isReadOnly,
  type ScriptPowers,
  type SessionScope,
  signatureOf,
  sourceName,
  typeText,
} from '@toolcrib/core/internal'
import type { CallOutcome, ScriptCall, ScriptCallOptions, ScriptHost, ScriptTool } from './script-host.ts'

const MAX_FOUND = 8
const MAX_SIGNATURE = 1_200
const WAITING: ToolResult = { ok: false, code: 'waiting', error: 'it waits for a person' }
const CHANGED: ToolResult = {
  ok: false,
  code: 'denied',
  error:
    'a hook changed what a person had approved, and nobody can be asked again. Nothing was run; tell the user.',
}

/** What one script makes its calls with. */
interface Calling {
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

  resolve(path: string): ScriptTool | { readonly problem: string } {
    const target = this.#target(path)
    if (target) return scriptTool(target.entry)
    const [close, ...more] = this.#calling.scope().suggest(path)
    const hint =
      close === undefined
        ? 'find one with await tools.search("…")'
        : `did you mean ${[close, ...more].join(' or ')}?`
    return { problem: `there is no tool "${path}"; ${hint}` }
  }

  asks(name: string): boolean {
    const target = this.#target(name)
    return target !== undefined && this.#calling.scope().asks(target)
  }

  async call(
    { toolCallId, name, args }: ScriptCall,
    { isGranted, maxChars, signal }: ScriptCallOptions,
  ): Promise<CallOutcome> {
    let isHeld = false
    let granted: string | undefined
    const onAsk = async ({ calls: [asked] }: AskRequest): Promise<AskAnswer> => {
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
    return matches.flatMap(({ name }) => {
      const tool = this.resolve(name)
      return 'problem' in tool ? [] : [tool]
    })
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

function scriptTool(entry: Entry): ScriptTool {
  const { name, definition, listing, tool, fingerprint } = entry
  const result = tool.outputSchema === undefined ? 'any' : typeText(tool.outputSchema)
  const signature = signatureOf(definition.parameters, { maxChars: MAX_SIGNATURE })
  return {
    name,
    description: definition.description,
    // Called with one object.
    types: `tools${pathOf(listing)}${signature.replace(/^\((.+)\)$/s, '({ $1 })')}: Promise<${result}>`,
    isReadOnly: isReadOnly(tool),
    fingerprint,
  }
}

/** `.github.create_issue`, or `["my-server"].read`. */
function pathOf({ source, ownName }: Entry['listing']): string {
  return [sourceName(source), ownName]
    .filter((part) => part !== '')
    .map((part) => (/^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`))
    .join('')
}

import { hooksOf } from '../call/call-runner.ts'
import { ToolcribError } from '../errors.ts'
import type { AgentEventBody, AgentLimit, AgentStop, Listener } from '../events.ts'
import type { Reply } from '../reply.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { LedgerTotals, Usage } from '../usage.ts'
import { activeToolsNote } from './active-tools-note.ts'
import type { AgentEvent } from './agent-event.ts'
import { type AgentHooks, agentHookList, callHooksOf, type ModelCall } from './agent-hooks.ts'
import { type AgentOptions, checkAgentOptions } from './agent-options.ts'
import { type Asked, askModel } from './ask-model.ts'
import { type LoopFinding, LoopGuard, loopMessage } from './loop-guard.ts'
import type { Model } from './model.ts'
import { Spending } from './spending.ts'
import { platformTiming } from './timing.ts'

/**
 * The result of a run. `messages` is the whole history, with a result for every call: the next run may start from it
 * unchanged, or with a user message appended.
 */
export interface AgentResult<Message = unknown> {
  /** The last text of the model. */
  readonly text: string
  readonly messages: readonly Message[]
  readonly stop: AgentStop
  /** Which limit, if `stop` is `limit`. */
  readonly limit?: AgentLimit
  readonly iterations: number
  /** What the run and its sub-agents spent; with `options.ledger`, everything counted into that. */
  readonly ledger: LedgerTotals
  /** Why the model refused, if it says so. */
  readonly refusal?: string
  /** The provider's error, if the run failed. */
  readonly error?: unknown
}

/**
 * Lets a model work with a session's tools until it has answered. Does not throw for failures of the model, its
 * provider, the tools or the hooks: the result says how the run ended, and contains the history. Throws
 * `config-invalid` for unknown options, values out of range, and a `maxCostUsd` without prices.
 */
export async function runAgent<Message, Request, Response>(
  options: AgentOptions<Message, Request, Response>,
): Promise<AgentResult<Message>> {
  checkAgentOptions(options)
  const run = new AgentRun(options)
  const { session, onEvent } = options
  const unsubscribe = onEvent && session.subscribe(listenerFor(onEvent))
  try {
    return await run.toEnd()
  } finally {
    unsubscribe?.()
  }
}

/** How a run ended. */
type Ending = Pick<AgentResult, 'stop' | 'limit' | 'refusal' | 'error'>

/** The state of one run: its history, its progress, and what it spent. */
class AgentRun<Message, Request, Response> {
  readonly #options: AgentOptions<Message, Request, Response>
  readonly #hooks: readonly AgentHooks<Message>[]
  readonly #spending: Spending
  readonly #guard: LoopGuard
  readonly #signal: AbortSignal
  #messages: readonly Message[]
  #iteration = 0
  /** The last text of the model. */
  #text = ''
  /** Whether the model stopped in the middle of an answer that the next request continues. */
  #isPaused = false
  /** False for the turn after the loop guard withheld the tools. */
  #mayCall = true
  #lastUsage: Usage | undefined

  constructor(options: AgentOptions<Message, Request, Response>) {
    const { model, session, ledger, prices, maxCostUsd, maxTokens } = options
    this.#options = options
    this.#hooks = agentHookList(options.hooks)
    this.#spending = new Spending({
      session,
      modelId: model.id,
      ledger,
      prices,
      ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    })
    this.#guard = new LoopGuard(options.loopGuard)
    this.#signal = options.signal ?? new AbortController().signal
    this.#messages = openingMessages(options)
  }

  async toEnd(): Promise<AgentResult<Message>> {
    const { session, maxIterations = 25, isCompacted, hint } = this.#options
    // The line stays in the history, so that later requests begin with the same bytes.
    if (hint) this.#messages = await session.hinted(this.#messages)
    if (isCompacted) this.#say(activeToolsNote(session))
    let ending: Ending | undefined
    while (!ending)
      ending =
        this.#iteration < iterationLimit(session, maxIterations)
          ? await this.#iterate()
          : { stop: 'limit', limit: 'maxIterations' }

    const ledger = this.#spending.totals()
    const { stop, limit } = ending
    this.#emit({ type: 'stopped', stop, ...(limit ? { limit } : {}), ledger })
    return { text: this.#text, messages: this.#messages, iterations: this.#iteration, ledger, ...ending }
  }

  /** Sends one request and runs the calls of its answer. Returns how the run ended, if it did. */
  async #iterate(): Promise<Ending | undefined> {
    if (this.#signal.aborted) return { stop: 'cancelled' }
    const limit = this.#spending.limitReached()
    if (limit) return { stop: 'limit', limit }
    this.#iteration++

    const before = this.#modelCall()
    const compacted = await this.#compact(before)
    if (compacted instanceof HookFailed) return { stop: 'failed', error: compacted.cause }
    this.#continueFrom(compacted)

    const { session, model } = this.#options
    const surface = session.surface()
    const request = this.#makeRequest(surface)
    if (request instanceof ToolcribError) return { stop: 'failed', error: request }
    const asked = await this.#ask(request, surface)
    if (asked.kind === 'limit') return { stop: 'limit', limit: asked.limit }
    if (asked.kind === 'failed') return { stop: 'failed', error: asked.error }
    if (asked.kind === 'cancelled') {
      this.#text = asked.reply?.text ?? ''
      this.#messages = [...this.#messages, ...saidBefore(asked, surface, model)]
      return { stop: 'cancelled' }
    }

    const { reply, response } = asked
    const failed = await this.#noteReply(reply, before)
    if (failed) return { stop: 'failed', error: failed.cause }
    const results = await this.#runCalls(reply)
    const answered = model.dialect.toMessages(response, results, session.surfaceAfter(surface))
    this.#messages = [...this.#messages, ...answered]
    return this.#endingAfter(reply) ?? this.#checkForLoop(reply, results)
  }

  async #compact(call: ModelCall<Message>): Promise<readonly Message[] | HookFailed> {
    let { messages } = call
    try {
      for (const hook of this.#hooks)
        messages = (await hook.before_model_call?.({ ...call, messages })) ?? messages
    } catch (error) {
      return new HookFailed(error)
    }
    return messages
  }

  /** Continues from the history that the hooks returned. If they shortened it, a note names the active tools, once. */
  #continueFrom(compacted: readonly Message[]): void {
    const before = this.#messages
    this.#messages = compacted
    if (keepsAll(before, compacted)) return
    this.#emit({ type: 'compacted', before: before.length, after: compacted.length })
    const { session, model } = this.#options
    const note = activeToolsNote(session)
    const noteMessage = model.dialect.userMessage(note)
    if (!compacted.some((message) => isSame(message, noteMessage))) this.#say(note)
  }

  /** A surface that the provider does not accept is a failure like others: the history is kept. */
  #makeRequest(surface: Surface): Request | ToolcribError {
    const { session, model, system } = this.#options
    try {
      return model.dialect.toRequest({
        surface,
        messages: this.#messages,
        system,
        note: session.promptNote(),
        cacheKey: session.id,
      })
    } catch (error) {
      if (error instanceof ToolcribError) return error
      throw error
    }
  }

  #ask(request: Request, surface: Surface): Promise<Asked<Response>> {
    const { tools, deferredCount } = surface
    this.#emit({ type: 'asking', tools: tools.length, deferredCount, mayCall: this.#mayCall })
    return askModel(this.#options.model, request, {
      surface,
      mayCall: this.#mayCall,
      signal: this.#signal,
      timing: this.#options.timing ?? platformTiming,
      emit: (event) => this.#emit(event),
      retry: this.#options.retry ?? {},
      onReply: (reply) => this.#spending.addReply(reply, request, surface),
      limitReached: () => this.#spending.limitReached(),
    })
  }

  async #noteReply(reply: Reply, call: ModelCall<Message>): Promise<HookFailed | undefined> {
    this.#text = this.#isPaused ? this.#text + reply.text : reply.text
    this.#isPaused = reply.stop === 'paused'
    this.#lastUsage = reply.usage
    this.#emit({ type: 'replied', reply })
    try {
      for (const hook of this.#hooks) await hook.after_model_call?.(reply, call)
    } catch (error) {
      return new HookFailed(error)
    }
    return undefined
  }

  /** Runs the calls that may run; the dialect adds a result with the reason for the others. */
  async #runCalls(reply: Reply): Promise<readonly CallResult[]> {
    const { calls, unrunnable, stop } = reply
    if (!hasCalls(reply) || !this.#mayCall || stop === 'refused') return []
    this.#emit({ type: 'calling', calls })
    const { session, callContext = {} } = this.#options
    const results = await session.execute(calls, {
      ...callContext,
      turnCount: this.#iteration,
      signal: this.#signal,
      hooks: [...hooksOf(callContext.hooks), ...this.#hooks.flatMap(callHooksOf)],
      meters: this.#spending.meters,
    })
    this.#spending.addToolCosts(results)
    this.#emit({ type: 'called', results: [...results, ...unrunnable] })
    return results
  }

  #endingAfter(reply: Reply): Ending | undefined {
    const { stop, refusal } = reply
    if (this.#signal.aborted) return { stop: 'cancelled' }
    if (stop === 'refused') return { stop: 'refused', ...(refusal === undefined ? {} : { refusal }) }
    if (hasCalls(reply) || this.#isPaused) return undefined
    return { stop: stop === 'length' ? 'length' : 'done' }
  }

  #checkForLoop(reply: Reply, results: readonly CallResult[]): undefined {
    const finding: LoopFinding | undefined = this.#mayCall
      ? this.#guard.note(this.#reachedCalls(reply), [...results, ...reply.unrunnable])
      : undefined
    this.#mayCall = finding?.answer !== 'withhold'
    if (!finding) return
    this.#emit({ type: 'looping', ...finding })
    this.#say(loopMessage(finding))
  }

  #reachedCalls({ calls, unrunnable }: Reply) {
    const malformed = unrunnable.map(({ toolCallId, name }) => ({ toolCallId, name, args: {} }))
    return [...calls.map((call) => this.#options.session.reached(call)), ...malformed]
  }

  #modelCall(): ModelCall<Message> {
    const { session } = this.#options
    const lastUsage = this.#lastUsage
    const call = { sessionId: session.id, iteration: this.#iteration, messages: this.#messages }
    return { ...call, ...(lastUsage ? { lastUsage } : {}) }
  }

  #say(note: string): void {
    if (note !== '') this.#messages = [...this.#messages, this.#options.model.dialect.userMessage(note)]
  }

  #emit(event: AgentEventBody): void {
    this.#options.session.emit({ type: 'agent', iteration: this.#iteration, event })
  }
}

/** An error thrown by a hook around model calls. It ends the run, which keeps its history. */
class HookFailed {
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }
}

function hasCalls({ calls, unrunnable }: Reply): boolean {
  return calls.length + unrunnable.length > 0
}

function openingMessages<Message, Request, Response>({
  messages,
  model,
}: AgentOptions<Message, Request, Response>): readonly Message[] {
  return typeof messages === 'string' ? [model.dialect.userMessage(messages)] : messages
}

/** Computed each time: servers come and go during a run. */
function iterationLimit(session: Session, maxIterations: number): number {
  return session.currentTurn().view.deferred.size > 0 ? maxIterations * 3 : maxIterations
}

/** Passes on the steps of runs from the registry's event stream. */
function listenerFor(onEvent: (event: AgentEvent) => void): Listener {
  return (event) => {
    if (event.type === 'agent')
      onEvent({ ...event.event, sessionId: event.sessionId ?? '', iteration: event.iteration })
  }
}

/** Whether a history still contains all of another, in order. Copies of messages count as equal. */
function keepsAll(before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before === after) return true
  let kept = 0
  for (const message of after) if (kept < before.length && isSame(message, before[kept])) kept++
  return kept === before.length
}

function isSame(message: unknown, other: unknown): boolean {
  return message === other || JSON.stringify(message) === JSON.stringify(other)
}

/** The text of a cancelled answer is kept, because the user has read it. */
function saidBefore<Message, Request, Response>(
  asked: Extract<Asked<Response>, { kind: 'cancelled' }>,
  surface: Surface,
  { dialect }: Model<Message, Request, Response>,
): readonly Message[] {
  return asked.response === undefined ? [] : dialect.toMessages(asked.response, [], surface)
}

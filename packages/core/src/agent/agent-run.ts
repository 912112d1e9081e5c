import { hooksOf } from '../call/call-runner.ts'
import { ToolcribError } from '../errors.ts'
import type { AgentEventBody } from '../events.ts'
import type { Reply } from '../reply.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { Usage } from '../usage.ts'
import { activeToolsNote } from './active-tools-note.ts'
import { type AgentHooks, agentHookList, callHooksOf, HookFailed, type ModelCall } from './agent-hooks.ts'
import type { AgentOptions } from './agent-options.ts'
import type { AgentResult } from './agent-result.ts'
import { type AskResult, askModel } from './ask-model.ts'
import { FinalAnswer } from './final-answer.ts'
import { hasCalls, isSame, keepsAll, saidBefore } from './history.ts'
import { type LoopFinding, LoopGuard, loopMessage } from './loop-guard.ts'
import { type PausedRun, PausingBatch } from './paused-run.ts'
import { Spending } from './spending.ts'
import { platformTiming } from './timing.ts'

/** How a run begins: whether it may pause, and where it did before. */
export interface RunStart {
  readonly mayPause: boolean
  readonly paused?: PausedRun | undefined
}

/** How a run ended. */
type Ending = Pick<AgentResult, 'stop' | 'limit' | 'refusal' | 'error' | 'answer' | 'paused'>

/** The state of one run: its history, its progress, and what it spent. */
export class AgentRun {
  readonly #options: AgentOptions
  readonly #hooks: readonly AgentHooks[]
  readonly #spending: Spending
  readonly #guard: LoopGuard
  readonly #signal: AbortSignal
  readonly #finalAnswer: FinalAnswer | undefined
  readonly #start: RunStart
  #messages: readonly unknown[]
  /** The history at the last checkpoint. */
  #checked: readonly unknown[] | undefined
  #iteration = 0
  /** The last text of the model. */
  #text = ''
  /** Whether the model stopped in the middle of an answer that the next request continues. */
  #isPaused = false
  /** False for the turn after the loop guard withheld the tools. */
  #mayCall = true
  #lastUsage: Usage | undefined

  constructor(options: AgentOptions, start: RunStart) {
    this.#start = start
    const { model, session, messages, ledger, prices, maxCostUsd, maxTokens } = options
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
    this.#finalAnswer = options.answerSchema === undefined ? undefined : new FinalAnswer(options.answerSchema)
    this.#messages = typeof messages === 'string' ? [model.dialect.userMessage(messages)] : messages
  }

  async toEnd(): Promise<AgentResult> {
    const { session, maxIterations, isCompacted, hint } = this.#options
    // The line stays in the history, so that later requests begin with the same bytes.
    if (hint) this.#messages = await session.hinted(this.#messages)
    if (isCompacted) this.#say(activeToolsNote(session))
    const { paused } = this.#start
    let ending: Ending | undefined = paused && (await this.#continue(paused))
    while (!ending) {
      ending =
        this.#iteration < iterationLimit(session, maxIterations)
          ? await this.#iterate()
          : { stop: 'limit', limit: 'maxIterations' }
      const failed = await this.#checkpoint()
      if (failed) ending = { stop: 'failed', error: failed.cause }
    }

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
    return this.#answerCalls(response, reply, surface)
  }

  /** Continues where the run paused: what was answered runs, and the other results are those of then. */
  #continue(paused: PausedRun): Promise<Ending | undefined> {
    this.#iteration = paused.iteration
    this.#text = paused.reply.text
    return this.#answerCalls(paused.response, paused.reply, this.#options.session.surface(), paused)
  }

  /** Runs the calls of an answer and appends their results, unless one of them waits for a person. */
  async #answerCalls(
    response: unknown,
    reply: Reply,
    surface: Surface,
    paused?: PausedRun,
  ): Promise<Ending | undefined> {
    const { session, model } = this.#options
    const batch = new PausingBatch(paused)
    const results = await this.#runCalls(reply, batch, paused?.results ?? [])
    if (batch.isPaused && !this.#signal.aborted) {
      const [id, { pending, agents }] = [session.scope().pauses.newKey(), batch]
      const now = { id, pending, agents, answers: paused?.answers ?? [], iteration: this.#iteration }
      const ended = results.filter((result) => !batch.waits(result))
      return {
        stop: 'approval',
        paused: { messages: this.#messages, sessionId: session.id, response, reply, results: ended, ...now },
      }
    }
    const answered = model.dialect.toMessages(response, results, session.surfaceAfter(surface))
    this.#messages = [...this.#messages, ...answered]
    const ending = this.#endingAfter(reply) ?? this.#checkForLoop(reply, results)
    return ending?.stop === 'done' && this.#finalAnswer ? this.#endingWith(this.#finalAnswer) : ending
  }

  async #endingWith(finalAnswer: FinalAnswer): Promise<Ending | undefined> {
    const read = await finalAnswer.read(this.#text)
    if ('value' in read) return { stop: 'done', answer: read.value }
    if ('error' in read) return { stop: 'failed', error: read.error }
    this.#say(read.correction)
    return undefined
  }

  async #checkpoint(): Promise<HookFailed | undefined> {
    if (this.#checked === this.#messages) return undefined
    this.#checked = this.#messages
    try {
      for (const hook of this.#hooks) await hook.checkpoint?.(this.#modelCall())
    } catch (error) {
      return new HookFailed(error)
    }
    return undefined
  }

  async #compact(call: ModelCall<unknown>): Promise<readonly unknown[] | HookFailed> {
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
  #continueFrom(compacted: readonly unknown[]): void {
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
  #makeRequest(surface: Surface): unknown {
    const { session, model } = this.#options
    const system = [this.#options.system, this.#finalAnswer?.instruction].filter(Boolean).join('\n\n')
    try {
      return model.dialect.toRequest({
        surface,
        messages: this.#messages,
        ...(system === '' ? {} : { system }),
        note: session.promptNote(),
        cacheKey: session.id,
      })
    } catch (error) {
      if (error instanceof ToolcribError) return error
      throw error
    }
  }

  #ask(request: unknown, surface: Surface): Promise<AskResult<unknown>> {
    const { tools, deferredCount } = surface
    this.#emit({ type: 'asking', tools: tools.length, deferredCount, mayCall: this.#mayCall })
    return askModel(this.#options.model, request, {
      sessionId: this.#options.session.id,
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

  async #noteReply(reply: Reply, call: ModelCall<unknown>): Promise<HookFailed | undefined> {
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
  async #runCalls(
    reply: Reply,
    pausing: PausingBatch,
    earlier: readonly CallResult[],
  ): Promise<readonly CallResult[]> {
    const { unrunnable, stop } = reply
    if (!hasCalls(reply) || !this.#mayCall || stop === 'refused') return []
    const known = new Map(earlier.map((result) => [result.toolCallId, result]))
    const calls = reply.calls.filter(({ toolCallId }) => !known.has(toolCallId))
    const { session, callContext = {}, context = callContext.context } = this.#options
    // A call through `call_tool` is one of the tool that it names.
    const reached = calls.map((call) => session.reached(call))
    this.#emit({ type: 'calling', calls: reached })
    const results = await session.execute(calls, {
      ...callContext,
      context,
      turnCount: this.#iteration,
      signal: this.#signal,
      hooks: [...hooksOf(callContext.hooks), ...this.#hooks.flatMap(callHooksOf)],
      meters: this.#spending.meters,
      ...(this.#start.mayPause ? { pausing } : {}),
    })
    this.#spending.addToolCosts(results)
    const named = results.map((result, at) => ({ ...result, name: reached[at]?.name ?? result.name }))
    this.#emit({ type: 'called', results: [...named, ...unrunnable] })
    if (known.size === 0) return results
    const all = new Map([...known, ...results.map((result) => [result.toolCallId, result] as const)])
    return reply.calls.flatMap(({ toolCallId }) => all.get(toolCallId) ?? [])
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

  #modelCall(): ModelCall<unknown> {
    const { session, callContext, context = callContext?.context ?? session.settings.context } = this.#options
    const lastUsage = this.#lastUsage
    const call = { sessionId: session.id, iteration: this.#iteration, messages: this.#messages, context }
    return { ...call, ...(lastUsage ? { lastUsage } : {}) }
  }

  #say(note: string): void {
    if (note !== '') this.#messages = [...this.#messages, this.#options.model.dialect.userMessage(note)]
  }

  #emit(event: AgentEventBody): void {
    this.#options.session.emit({ type: 'agent', iteration: this.#iteration, event })
  }
}

/** The limit that was given, or the default. Computed each time: servers come and go during a run. */
function iterationLimit(session: Session, maxIterations: number | undefined): number {
  return maxIterations ?? (session.scope().view.deferred.size > 0 ? 75 : 25)
}

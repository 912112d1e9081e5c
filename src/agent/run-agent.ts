import { hooksOf } from '../call/hooks.ts'
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
 * How a run ended. `messages` is the whole history, with every call answered: the next run may start from it as it is,
 * or with a message of the user after it.
 */
export interface AgentResult<Message = unknown> {
  /** What the model said last. */
  readonly text: string
  readonly messages: readonly Message[]
  readonly stop: AgentStop
  /** Which limit, when `stop` is `limit`. */
  readonly limit?: AgentLimit
  readonly iterations: number
  /** What the run and its sub-agents spent; with `options.ledger`, all that was counted into that. */
  readonly ledger: LedgerTotals
  /** Why the model refused, when it says so. */
  readonly refusal?: string
  /** The provider's error, when the run failed. */
  readonly error?: unknown
}

/**
 * Lets a model work with a session's tools until it has answered. It does not throw for what the model, its provider
 * or the tools do: the result says how it ended, and keeps what was said. Throws `config-invalid` for unknown options,
 * values out of range, and a `maxCostUsd` without prices.
 */
export async function runAgent<Message, Request, Response>(
  options: AgentOptions<Message, Request, Response>,
): Promise<AgentResult<Message>> {
  checkAgentOptions(options)
  const { model, session, system, maxIterations = 25, signal = new AbortController().signal } = options
  const { ledger, prices, maxCostUsd, maxTokens } = options
  const { dialect } = model
  const hooks = agentHookList(options.hooks)
  const callHooks = hooks.flatMap(callHooksOf)
  const spending = new Spending({
    session,
    modelId: model.id,
    ledger,
    prices,
    ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  })
  const guard = new LoopGuard(options.loopGuard)
  const timing = options.timing ?? platformTiming
  let messages = openingMessages(options)
  let iteration = 0
  let text = ''
  let isPaused = false
  let mayCall = true
  let lastUsage: Usage | undefined

  const emit = (event: AgentEventBody) => session.emit({ type: 'agent', iteration, event })
  const unsubscribe = options.onEvent && session.subscribe(listenerFor(options.onEvent))
  const say = (note: string) => {
    if (note !== '') messages = [...messages, dialect.userMessage(note)]
  }
  /** Continues from a shortened history, with a note about the active tools unless it still holds that note. */
  const tellActive = (shortened: readonly Message[]) => {
    messages = shortened
    const note = activeToolsNote(session)
    if (!messages.some((message) => isSame(message, dialect.userMessage(note)))) say(note)
  }
  type Ending = Pick<AgentResult, 'limit' | 'refusal' | 'error'>
  const end = (stop: AgentStop, more: Ending = {}): AgentResult<Message> => {
    const totals = spending.totals()
    emit({ type: 'stopped', stop, ...(more.limit ? { limit: more.limit } : {}), ledger: totals })
    unsubscribe?.()
    return { text, messages, stop, iterations: iteration, ledger: totals, ...more }
  }

  if (options.isCompacted) say(activeToolsNote(session))

  while (iteration < iterationLimit(session, maxIterations)) {
    if (signal.aborted) return end('cancelled')
    const limit = spending.limitReached()
    if (limit) return end('limit', { limit })
    iteration++

    const before = modelCall(session, iteration, messages, lastUsage)
    const compacted = await compact(hooks, before)
    if (!keepsAll(messages, compacted)) {
      emit({ type: 'compacted', before: messages.length, after: compacted.length })
      tellActive(compacted)
    } else messages = compacted

    const surface = session.surface()
    const request = makeRequest(surface)
    if (request instanceof ToolcribError) return end('failed', { error: request })
    emit({ type: 'asking', tools: surface.tools.length, deferredCount: surface.deferredCount, mayCall })
    const asked: Asked<Response> = await askModel(model, request, {
      surface,
      mayCall,
      signal,
      timing,
      emit,
      retry: options.retry ?? {},
      onReply: (reply) => spending.addReply(reply, request, surface),
      limitReached: () => spending.limitReached(),
    })
    if (asked.kind === 'limit') return end('limit', { limit: asked.limit })
    if (asked.kind === 'failed') return end('failed', { error: asked.error })
    if (asked.kind === 'cancelled') {
      text = asked.reply?.text ?? ''
      messages = [...messages, ...saidBefore(asked, surface, model)]
      return end('cancelled')
    }

    const { reply, response }: { reply: Reply; response: Response } = asked
    text = isPaused ? text + reply.text : reply.text
    isPaused = reply.stop === 'paused'
    lastUsage = reply.usage
    emit({ type: 'replied', reply })
    for (const hook of hooks) await hook.after_model_call?.(reply, before)

    const hasCalls = reply.calls.length + reply.unrunnable.length > 0
    const results = await answerCalls(reply)
    messages = [...messages, ...dialect.toMessages(response, results, surface)]
    if (signal.aborted) return end('cancelled')
    if (reply.stop === 'refused')
      return end('refused', reply.refusal === undefined ? {} : { refusal: reply.refusal })
    if (!hasCalls && !isPaused) return end(reply.stop === 'length' ? 'length' : 'done')

    const finding: LoopFinding | undefined = mayCall
      ? guard.note(reachedCalls(reply), [...results, ...reply.unrunnable])
      : undefined
    mayCall = finding?.answer !== 'withhold'
    if (finding) {
      emit({ type: 'looping', ...finding })
      say(loopMessage(finding))
    }
  }
  return end('limit', { limit: 'maxIterations' })

  /** A surface that the provider cannot take is a failure like others: the history is kept. */
  function makeRequest(surface: Surface): Request | ToolcribError {
    try {
      const note = session.promptNote()
      return dialect.toRequest({ surface, messages, system, note, cacheKey: session.id })
    } catch (error) {
      if (error instanceof ToolcribError) return error
      throw error
    }
  }

  /** Runs the calls that may run; the dialect answers the others with the reason. */
  async function answerCalls({ calls, unrunnable, stop }: Reply): Promise<readonly CallResult[]> {
    if (calls.length + unrunnable.length === 0 || !mayCall || stop === 'refused') return []
    emit({ type: 'calling', calls })
    const { callContext = {} } = options
    const results = await session.execute(calls, {
      ...callContext,
      turnCount: iteration,
      signal,
      hooks: [...hooksOf(callContext.hooks), ...callHooks],
      meters: spending.meters,
    })
    spending.addToolCosts(results)
    emit({ type: 'called', results: [...results, ...unrunnable] })
    return results
  }

  function reachedCalls({ calls, unrunnable }: Reply) {
    const malformed = unrunnable.map(({ toolCallId, name }) => ({ toolCallId, name, args: {} }))
    return [...calls.map((call) => session.reached(call)), ...malformed]
  }
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

/** Picks the steps of runs out of the registry's stream. */
function listenerFor(onEvent: (event: AgentEvent) => void): Listener {
  return (event) => {
    if (event.type === 'agent')
      onEvent({ ...event.event, sessionId: event.sessionId ?? '', iteration: event.iteration })
  }
}

function modelCall<Message>(
  session: Session,
  iteration: number,
  messages: readonly Message[],
  lastUsage: Usage | undefined,
): ModelCall<Message> {
  return { sessionId: session.id, iteration, messages, ...(lastUsage ? { lastUsage } : {}) }
}

async function compact<Message>(
  hooks: readonly AgentHooks<Message>[],
  call: ModelCall<Message>,
): Promise<readonly Message[]> {
  let { messages } = call
  for (const hook of hooks) messages = (await hook.before_model_call?.({ ...call, messages })) ?? messages
  return messages
}

/** Whether a history still has all of another, in order. Copies of messages count as the same. */
function keepsAll(before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before === after) return true
  let kept = 0
  for (const message of after) if (kept < before.length && isSame(message, before[kept])) kept++
  return kept === before.length
}

function isSame(message: unknown, other: unknown): boolean {
  return message === other || JSON.stringify(message) === JSON.stringify(other)
}

/** The text of a cancelled answer is kept: the user has read it. */
function saidBefore<Message, Request, Response>(
  asked: Extract<Asked<Response>, { kind: 'cancelled' }>,
  surface: Surface,
  { dialect }: Model<Message, Request, Response>,
): readonly Message[] {
  return asked.response === undefined ? [] : dialect.toMessages(asked.response, [], surface)
}

import type { CallContext } from '../call/call-scope.ts'
import { hooksOf } from '../call/hooks.ts'
import { ToolcribError } from '../errors.ts'
import type { AgentEventBody, AgentStop, Listener } from '../events.ts'
import type { Reply } from '../reply.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { LedgerTotals, Usage } from '../usage.ts'
import { activeToolsNote } from './active-tools-note.ts'
import type { AgentEvent } from './agent-event.ts'
import { type AgentHooks, agentHookList, callHooksOf, type ModelCall } from './agent-hooks.ts'
import { type Asked, askModel, type RetryOptions } from './ask-model.ts'
import { Ledger, type Prices } from './ledger.ts'
import { type LoopFinding, LoopGuard, type LoopGuardOptions, loopMessage } from './loop-guard.ts'
import type { Model } from './model.ts'
import { platformTiming, type Timing } from './timing.ts'

/** One run: who is asked, with which tools, what was said, and what the host does around it. */
export interface AgentOptions<Message = unknown, Request = unknown, Response = unknown> {
  readonly model: Model<Message, Request, Response>
  /** Open it with the model's dialect, so that its surface grows the way the provider likes best. */
  readonly session: Session
  /** What was said so far, in the words of the model's dialect; a text is one message of the user. */
  readonly messages: string | readonly Message[]
  readonly system?: string
  /** How many requests; 25. Three times as many where tools are deferred, since finding them takes turns. */
  readonly maxIterations?: number
  readonly hooks?: AgentHooks<Message> | readonly AgentHooks<Message>[]
  readonly signal?: AbortSignal
  /** Called for every step of the run. What it throws is ignored. */
  readonly onEvent?: (event: AgentEvent) => void
  /** Counts into this ledger; into one of the run's own when absent. */
  readonly ledger?: Ledger
  readonly prices?: Prices
  readonly retry?: RetryOptions
  readonly loopGuard?: LoopGuardOptions
  /** True when `messages` were shortened since the session found its tools: the model is told once what is active. */
  readonly isCompacted?: boolean
  /** Said of every batch of calls: attachments, a result budget, a dry run. */
  readonly callContext?: Partial<Omit<CallContext, 'sessionId' | 'turnCount' | 'signal'>>
  readonly timing?: Timing
}

/** How a run ended. `messages` is the whole history, with no call left open: the next run may start from it. */
export interface AgentResult<Message = unknown> {
  /** What the model said last. */
  readonly text: string
  readonly messages: readonly Message[]
  readonly stop: AgentStop
  readonly iterations: number
  readonly ledger: LedgerTotals
  /** Why the model refused, when it says so. */
  readonly refusal?: string
  /** What the provider answered, when the run failed. */
  readonly error?: unknown
}

/**
 * Lets a model work with a session's tools until it has answered. It does not throw for what the model, its provider
 * or the tools do: the result says how it ended, and keeps what was said.
 */
export async function runAgent<Message, Request, Response>(
  options: AgentOptions<Message, Request, Response>,
): Promise<AgentResult<Message>> {
  const {
    model,
    session,
    system,
    maxIterations = 25,
    prices,
    signal = new AbortController().signal,
  } = options
  const { dialect } = model
  const hooks = agentHookList(options.hooks)
  // Made once per run: a sub-agent inherits these objects, and none of them runs twice around one call.
  const callHooks = hooks.flatMap(callHooksOf)
  const ledger = options.ledger ?? new Ledger()
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
  /** Goes on from a shortened history; what is active is told in it, unless it still stands there. */
  const tellActive = (shortened: readonly Message[]) => {
    messages = shortened
    const note = activeToolsNote(session)
    if (!messages.some((message) => isSame(message, dialect.userMessage(note)))) say(note)
  }
  const end = (stop: AgentStop, more: Pick<AgentResult, 'refusal' | 'error'> = {}): AgentResult<Message> => {
    emit({ type: 'stopped', stop, ledger: ledger.totals() })
    unsubscribe?.()
    return { text, messages, stop, iterations: iteration, ledger: ledger.totals(), ...more }
  }

  if (options.isCompacted) say(activeToolsNote(session))

  while (iteration < iterationLimit(session, maxIterations)) {
    if (signal.aborted) return end('cancelled')
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
      onReply: ({ usage }) => ledger.addReply(usage, { session, surface, prices }),
    })
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
  return end('limit')

  /** A surface that the provider cannot take is a failure like others: what was said is kept. */
  function makeRequest(surface: Surface): Request | ToolcribError {
    try {
      return dialect.toRequest({ surface, messages, system, note: session.promptNote() })
    } catch (error) {
      if (error instanceof ToolcribError) return error
      throw error
    }
  }

  /** Runs what may run; calls that get no result here are told so by the dialect. */
  async function answerCalls({ calls, unrunnable, stop }: Reply): Promise<readonly CallResult[]> {
    if (calls.length + unrunnable.length === 0 || !mayCall || stop === 'refused') return []
    emit({ type: 'calling', calls })
    const { callContext = {} } = options
    const results = await session.execute(calls, {
      ...callContext,
      turnCount: iteration,
      signal,
      hooks: [...hooksOf(callContext.hooks), ...callHooks],
    })
    for (const { result } of results) if (result.ok) ledger.addToolCost(result.costUsd ?? 0)
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

/** Computed each time: servers come and go while the run goes on. */
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

/** What a cancelled answer had said is kept: the user has read it. */
function saidBefore<Message, Request, Response>(
  asked: Extract<Asked<Response>, { kind: 'cancelled' }>,
  surface: Surface,
  { dialect }: Model<Message, Request, Response>,
): readonly Message[] {
  return asked.response === undefined ? [] : dialect.toMessages(asked.response, [], surface)
}

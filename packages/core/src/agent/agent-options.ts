import type { SchemaInput } from '../authoring/define-tool.ts'
import type { CallContext } from '../call/call-scope.ts'
import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  anyValue,
  aSignal,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  objectWith,
  oneOf,
  optionsWith,
  required,
  trueOrFalse,
  wholeNumber,
} from '../check-options.ts'
import type { Session } from '../session/session.ts'
import type { SpendLimits } from '../usage.ts'
import type { AgentEvent } from './agent-event.ts'
import { type AgentHooks, agentHookList } from './agent-hooks.ts'
import type { RetryOptions } from './ask-model.ts'
import { type Ledger, LIMIT_RULES, type PriceList, priceList } from './ledger.ts'
import type { LoopGuardOptions } from './loop-guard.ts'
import type { MessageOfModel, Model } from './model.ts'
import type { Timing } from './timing.ts'

/**
 * Options that a run shares with those of its sub-agents. `maxCostUsd` and `maxTokens` limit what the run and its
 * sub-agents spend. They are checked before each request, so a run may exceed them by the requests in flight.
 */
export interface SharedRunOptions<Message = unknown> extends SpendLimits {
  /** The maximum number of requests. Default: 25, and 75 while tools are deferred, since finding them takes turns. */
  readonly maxIterations?: number
  readonly hooks?: AgentHooks<Message> | readonly AgentHooks<Message>[]
  /** Called for every step of the run. Exceptions are ignored. */
  readonly onEvent?: (event: AgentEvent) => void
  /** Counts the run, and whatever else the host counts into it; `result.ledger` then contains all of that. */
  readonly ledger?: Ledger
  /** The prices of `model`, or a function that returns those of any model. A sub-agent also uses its caller's. */
  readonly prices?: PriceList
  readonly retry?: RetryOptions
  readonly loopGuard?: LoopGuardOptions
  readonly timing?: Timing
}

export interface AgentOptions<
  SomeModel extends Model = Model,
  Schema extends SchemaInput = SchemaInput,
  Message = MessageOfModel<SomeModel>,
> extends SharedRunOptions<Message> {
  readonly model: SomeModel
  /** Open it with the model's dialect, so that it uses the strategy that suits the provider. */
  readonly session: Session
  /** The conversation so far, in the message type of the model's dialect; a text is one user message. */
  readonly messages: string | readonly Message[]
  readonly system?: string
  readonly signal?: AbortSignal
  /**
   * The schema of the last answer, which is returned as `answer`. The model is asked for JSON; an answer that does not match
   * is asked for again, twice at most.
   */
  readonly answerSchema?: Schema
  /**
   * A value of the host's: hooks, tools, backends and sub-agents get it as `context`. Overrides the session's. It is never
   * sent to a model, nor stored.
   */
  readonly context?: unknown
  /** True if `messages` were shortened after the session found its tools: a note then says once which are active. */
  readonly isCompacted?: boolean
  /**
   * Names tools that probably fit the user's newest message in a line after it; see `session.turn()`. Default: false.
   */
  readonly hint?: boolean
  /** For every batch of calls: attachments, a result budget, a dry run. */
  readonly callContext?: Partial<Omit<CallContext, 'sessionId' | 'turnCount' | 'signal' | 'meters'>>
}

export const aModel = objectWith('send')

/** The checks of the options that runs of agents and sub-agents have in common. */
export const SHARED_RULES: OptionRules<SharedRunOptions> = {
  ...LIMIT_RULES,
  maxIterations: either(wholeNumber({ from: 1 }), oneOf(Number.POSITIVE_INFINITY)),
  hooks: either(anyObject, anyList),
  onEvent: anyFunction,
  ledger: objectWith('addReply', 'limitReached', 'totals'),
  prices: priceList,
  retry: optionsWith<RetryOptions>({
    maxRetries: wholeNumber(),
    baseDelayMs: milliseconds(),
    maxDelayMs: milliseconds(),
  }),
  loopGuard: optionsWith<LoopGuardOptions>({
    nudgeAfter: wholeNumber(),
    withholdAfter: wholeNumber({ from: 1 }),
    window: wholeNumber({ from: 1 }),
  }),
  timing: objectWith('now', 'random', 'sleep'),
}

const AGENT_RULES: OptionRules<AgentOptions> = {
  ...SHARED_RULES,
  model: required(aModel),
  session: required(objectWith('surface', 'execute')),
  messages: required(either(anyText, anyList)),
  system: anyText,
  signal: aSignal,
  answerSchema: either(trueOrFalse, anyObject, anyFunction),
  context: anyValue,
  isCompacted: trueOrFalse,
  hint: trueOrFalse,
  callContext: anyObject,
}

const HOOK_RULES: OptionRules<AgentHooks> = {
  before_tool_call: anyFunction,
  after_tool_call: anyFunction,
  before_model_call: anyFunction,
  checkpoint: anyFunction,
  after_model_call: anyFunction,
}

/** Throws `config-invalid` for unknown options and values out of range. */
export function checkAgentOptions(options: AgentOptions): void {
  checkOptions<AgentOptions>('runAgent()', options, AGENT_RULES)
  checkAgentHooks('runAgent()', options.hooks)
}

/** Throws `config-invalid` for hooks with an unknown key, naming the nearest known one. */
export function checkAgentHooks<Message>(
  owner: string,
  hooks: AgentHooks<Message> | readonly AgentHooks<Message>[] | undefined,
): void {
  for (const hook of agentHookList(hooks)) checkOptions<AgentHooks>(`a hook of ${owner}`, hook, HOOK_RULES)
}

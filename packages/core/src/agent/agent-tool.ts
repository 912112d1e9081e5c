import { BatchAbort } from '../call/run-within.ts'
import { Slots } from '../call/slots.ts'
import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  required,
  textList,
  trueOrFalse,
  wholeNumber,
} from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { inheritedToolsNote } from './active-tools-note.ts'
import type { AgentDefinition } from './agent-definition.ts'
import { aModel, checkAgentHooks, SHARED_RULES, type SharedRunOptions } from './agent-options.ts'
import type { AgentResult } from './agent-result.ts'
import type { Model } from './model.ts'
import type { PausedRun } from './paused-run.ts'
import { startRun } from './run-agent.ts'
import { priceFinder } from './spending.ts'

/**
 * Which agents there are, who may call them, and how they run. Hooks, prices, the ledger and the limits of the calling
 * run apply to agents without being repeated here.
 */
export interface AgentToolOptions extends SharedRunOptions {
  readonly agents: readonly AgentDefinition[]
  /** The model of agents that name none. */
  readonly model: Model
  /** Returns the model that an agent names. */
  readonly models?: (name: string) => Model | undefined
  /** The session whose model calls this tool; for many sessions, a function that finds one by its id. */
  readonly session: Session | ((id: string) => Session | undefined)
  /** How deep agents may nest; 2: an agent may call one that calls none. */
  readonly maxDepth?: number
  /** How long one agent may work, in milliseconds; 1,800,000. */
  readonly timeoutMs?: number
  /**
   * How many work at once; 4. Each depth is counted separately, so that no agent waits for its own caller to finish.
   * Others wait for their turn, which counts towards their `timeoutMs`.
   */
  readonly maxConcurrent?: number
  /** The name of the tool. Default: `agent`. */
  readonly name?: string
}

const TOOL_RULES: OptionRules<AgentToolOptions> = {
  ...SHARED_RULES,
  agents: required(anyList),
  model: required(aModel),
  models: anyFunction,
  session: required(either(anyFunction, anyObject)),
  maxDepth: wholeNumber({ from: 1, to: 100 }),
  timeoutMs: milliseconds(),
  maxConcurrent: wholeNumber({ from: 1 }),
  name: anyText,
}

const DEFINITION_RULES: OptionRules<AgentDefinition> = {
  name: required(anyText),
  description: required(anyText),
  prompt: required(anyText),
  tools: textList,
  model: anyText,
  inheritActiveMcp: trueOrFalse,
}

interface AgentInput {
  readonly agent: string
  readonly task: string
}

/** The caller: a session, its depth, and its model. */
interface Caller {
  readonly session: Session
  readonly depth: number
  readonly model: Model
}

/**
 * `agent`: gives a task to a sub-agent, which works in a fork of its caller's session and returns a report. The
 * caller's session does not change. Register it like any tool. Throws `config-invalid` for unknown options, values out
 * of range, and agents that name an unknown model.
 */
export function agentTool(options: AgentToolOptions): Tool<AgentInput> {
  checkOptions<AgentToolOptions>('agentTool()', options, TOOL_RULES)
  checkAgentHooks('agentTool()', options.hooks)
  const { agents, session, model, models, name = 'agent', ...others } = options
  const { maxDepth = 2, timeoutMs = 1_800_000, maxConcurrent = 4, prices, ...runOptions } = others
  // Plain prices are those of `model`, not of the models that agents name.
  const shared = prices === undefined ? runOptions : { ...runOptions, prices: priceFinder(prices, model.id) }
  const definitions = new Map(agents.map((definition) => [definition.name, definition]))
  checkAgents(definitions, options)
  /** Running sub-agents, by the id of their session: their own calls of this tool arrive here too. */
  const working = new Map<string, Caller>()
  const places = Array.from({ length: maxDepth }, () => new Slots(maxConcurrent))

  const callerOf = (id: string): Caller | undefined => {
    const known = working.get(id)
    if (known) return known
    const root = typeof session === 'function' ? session(id) : session.id === id ? session : undefined
    return root && { session: root, depth: 0, model }
  }

  return {
    name,
    description: describeAgents(agents),
    inputSchema: {
      type: 'object',
      properties: {
        agent: { type: 'string', enum: [...definitions.keys()], description: 'Which agent.' },
        task: {
          type: 'string',
          description: 'Everything it needs to know: it sees nothing of this conversation.',
        },
      },
      required: ['agent', 'task'],
    },
    deferred: false,
    timeoutMs,
    async execute({ agent, task }, ctx) {
      const definition = definitions.get(agent)
      if (!definition) return failure('input_invalid', `there is no agent "${agent}"`)
      if (task.trim() === '')
        return failure('input_invalid', 'the task is empty; write out everything the agent needs to know')
      const caller = callerOf(ctx.sessionId)
      if (!caller)
        return failure('not_available', 'agents cannot be called from this session; do the task yourself')
      if (caller.depth >= maxDepth)
        return failure('not_available', `agents may be ${maxDepth} deep at most; do the task yourself`)
      const { inheritActiveMcp = true, tools } = definition
      const own = modelOf(definition, models) ?? caller.model
      const paused = ctx.pausing?.earlier(ctx.toolCallId) as PausedRun | undefined
      const child = caller.session.fork({
        ...(paused ? { id: paused.sessionId } : {}),
        inheritActive: inheritActiveMcp,
        ...(tools ? { tools } : {}),
        // A session without a dialect uses a strategy that every model understands, and so does its child.
        ...(caller.session.settings.dialect ? { dialect: own.dialect } : {}),
      })
      const abort = new BatchAbort(ctx.signal)
      const leave = await places[caller.depth]?.enter(abort)
      abort.close()
      if (!leave) return failure('cancelled', 'cancelled before the agent began')
      working.set(child.id, { session: child, depth: caller.depth + 1, model: own })
      try {
        return await runSubAgent({ definition, task, session: child, model: own, ctx, shared })
      } finally {
        leave()
        working.delete(child.id)
      }
    },
  }
}

function checkAgents(
  definitions: ReadonlyMap<string, AgentDefinition>,
  { agents, models }: AgentToolOptions,
): void {
  if (agents.length === 0) throw new ToolcribError('config-invalid', 'agentTool() needs at least one agent')
  for (const definition of agents) {
    checkOptions<AgentDefinition>('an agent', definition, DEFINITION_RULES)
    if (definitions.get(definition.name) !== definition)
      throw new ToolcribError('tool-duplicate', `there are two agents "${definition.name}"; rename one`)
    if (definition.model !== undefined && !modelOf(definition, models)) {
      const problem = `the agent "${definition.name}" names the unknown model "${definition.model}"`
      throw new ToolcribError('config-invalid', `${problem}; return it from agentTool({ models })`)
    }
  }
}

function modelOf({ model }: AgentDefinition, models: AgentToolOptions['models']): Model | undefined {
  return model === undefined ? undefined : models?.(model)
}

function describeAgents(agents: readonly AgentDefinition[]): string {
  const lines = agents.map(({ name, description }) => `- ${name}: ${description}`)
  return [
    'Hands a task to an agent that works on its own, with its own tools, and reports back. Several calls in one turn work side by side. The agents:',
    ...lines,
  ].join('\n')
}

interface SubAgentRun {
  readonly definition: AgentDefinition
  readonly task: string
  readonly session: Session
  readonly model: Model
  readonly ctx: ToolContext
  readonly shared: SharedRunOptions
}

async function runSubAgent({
  definition,
  task,
  session,
  model,
  ctx,
  shared,
}: SubAgentRun): Promise<ToolResult> {
  const note = inheritedToolsNote(session)
  const { pausing, toolCallId } = ctx
  const run = {
    ...shared,
    model,
    session,
    messages: note === '' ? task : `${note}\n\n${task}`,
    system: systemPrompt(definition, ctx.resultLimitChars),
    signal: ctx.signal,
  }
  const paused = pausing?.earlier(toolCallId) as PausedRun | undefined
  const messages = paused?.messages ?? run.messages
  const result = await startRun({ ...run, messages }, { mayPause: pausing !== undefined, paused })
  if (result.paused) pausing?.pause(toolCallId, result.paused)
  const isShared = shared.ledger !== undefined
  return toResult(definition.name, result, { isShared, isCounted: isShared || session.meters.length > 0 })
}

function systemPrompt({ prompt }: AgentDefinition, limitChars: number): string {
  const report = `Your last message is your report to whoever gave you the task, and all they will see of your work. Keep it below ${limitChars} characters.`
  return prompt === '' ? report : `${prompt}\n\n${report}`
}

interface Counted {
  /** The host's ledger, which counts more than this run. */
  readonly isShared: boolean
  /** The cost is counted by a calling run or by the host's ledger, so the result must not repeat it. */
  readonly isCounted: boolean
}

function toResult(agent: string, result: AgentResult, { isShared, isCounted }: Counted): ToolResult {
  const { stop, limit, iterations, text, ledger, refusal, error } = result
  const structured = {
    agent,
    stop,
    ...(limit ? { limit } : {}),
    iterations,
    ...(isShared ? {} : { ledger }),
  }
  const told = text === '' ? '' : ` It last said: ${text}`
  switch (stop) {
    case 'done':
    case 'length': {
      const costUsd = (ledger.costUsd ?? 0) + ledger.toolCostUsd
      return { ok: true, value: text, structured, ...(!isCounted && costUsd > 0 ? { costUsd } : {}) }
    }
    case 'limit': {
      const problem =
        limit === 'maxIterations'
          ? `did not finish within ${iterations} turns; give it less to do`
          : `stopped after ${iterations} turns: the spending limit ${limit} is used up; answer with what you have`
      return { ...failure('execution_failed', `${agent} ${problem}.${told}`), structured }
    }
    case 'refused':
      return { ...failure('execution_failed', `${agent} refused the task: ${refusal ?? text}`), structured }
    case 'cancelled':
      return { ...failure('cancelled', `${agent} was cancelled.${told}`), structured }
    case 'approval':
      return failure('denied', `${agent} waits for a person's approval`)
    case 'failed':
      return {
        ...failure('execution_failed', `${agent} failed: ${describeError(error)}.${told}`),
        structured,
      }
  }
}

function failure(code: string, error: string): Extract<ToolResult, { ok: false }> {
  return { ok: false, code, error }
}

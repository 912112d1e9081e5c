import { describeError, ToolcribError } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { inheritedToolsNote } from './active-tools-note.ts'
import type { AgentDefinition } from './agent-definition.ts'
import type { Model } from './model.ts'
import { type AgentOptions, type AgentResult, runAgent } from './run-agent.ts'

/** What a run of a sub-agent has in common with that of its caller. */
type SharedRunOptions = Pick<
  AgentOptions,
  'maxIterations' | 'hooks' | 'onEvent' | 'ledger' | 'prices' | 'retry' | 'loopGuard' | 'timing'
>

/** Which agents there are, who may call them, and what their runs have in common. */
export interface AgentToolOptions extends SharedRunOptions {
  readonly agents: readonly AgentDefinition[]
  /** The model of agents that name none. */
  readonly model: Model
  /** Finds the models that agents name. */
  readonly models?: (name: string) => Model | undefined
  /** The session whose model calls this tool; a host of many sessions finds it by its id. */
  readonly session: Session | ((id: string) => Session | undefined)
  /** How deep agents may call agents; 2: an agent may call one that calls none. */
  readonly maxDepth?: number
  /** How long one agent may work; 1,800,000. */
  readonly timeoutMs?: number
  /** How many work at once; 4. */
  readonly maxConcurrent?: number
  /** `agent` when absent. */
  readonly name?: string
}

interface AgentInput {
  readonly agent: string
  readonly task: string
}

/** Who calls: a session, how deep it stands, and the model it runs on. */
interface Caller {
  readonly session: Session
  readonly depth: number
  readonly model: Model
}

/**
 * `agent`: hands a task to a sub-agent, which works in a fork of its caller's session and answers with a report. What
 * it finds and activates stays its own. Register it like any tool.
 */
export function agentTool(options: AgentToolOptions): Tool<AgentInput> {
  const {
    agents,
    session,
    model,
    models,
    name = 'agent',
    maxDepth = 2,
    timeoutMs = 1_800_000,
    ...rest
  } = options
  const { maxConcurrent = 4, ...runOptions } = rest
  const definitions = new Map(agents.map((definition) => [definition.name, definition]))
  checkAgents(definitions, options)
  /** Sub-agents at work, by the id of their session: what they call comes back here. */
  const working = new Map<string, Caller>()

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
        task: { type: 'string', description: 'All it needs to know: it sees nothing of this conversation.' },
      },
      required: ['agent', 'task'],
    },
    deferred: false,
    timeoutMs,
    maxConcurrent,
    async execute({ agent, task }, ctx) {
      const definition = definitions.get(agent)
      if (!definition) return failure('input_invalid', `there is no agent "${agent}"`)
      const caller = callerOf(ctx.sessionId)
      if (!caller)
        return failure('not_available', 'agents cannot be called from this session; do the task yourself')
      if (caller.depth >= maxDepth)
        return failure('not_available', `agents may be ${maxDepth} deep at most; do the task yourself`)
      const { inheritActiveMcp = true, tools } = definition
      const own = modelOf(definition, models) ?? caller.model
      const child = caller.session.fork({
        inheritActive: inheritActiveMcp,
        ...(tools ? { tools } : {}),
        // Opened without a dialect, a session grows in the way that every model understands; so does its child.
        ...(caller.session.settings.dialect ? { dialect: own.dialect } : {}),
      })
      working.set(child.id, { session: child, depth: caller.depth + 1, model: own })
      try {
        return await runSubAgent({ definition, task, session: child, model: own, ctx, runOptions })
      } finally {
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
    if (definitions.get(definition.name) !== definition)
      throw new ToolcribError('tool-duplicate', `there are two agents "${definition.name}"; rename one`)
    if (definition.model !== undefined && !modelOf(definition, models)) {
      const problem = `the agent "${definition.name}" wants the model "${definition.model}", which is not known`
      throw new ToolcribError('config-invalid', `${problem}; give it in agentTool({ models })`)
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
  readonly runOptions: SharedRunOptions
}

async function runSubAgent({
  definition,
  task,
  session,
  model,
  ctx,
  runOptions,
}: SubAgentRun): Promise<ToolResult> {
  const note = inheritedToolsNote(session)
  const result = await runAgent({
    ...runOptions,
    model,
    session,
    messages: note === '' ? task : `${note}\n\n${task}`,
    system: systemPrompt(definition, ctx.resultLimitChars),
    signal: ctx.signal,
  })
  return toResult(definition.name, result, runOptions.ledger === undefined)
}

function systemPrompt({ prompt }: AgentDefinition, limitChars: number): string {
  const report = `Your last message is your report to whoever gave you the task, and all they will see of your work. Keep it below ${limitChars} characters.`
  return prompt === '' ? report : `${prompt}\n\n${report}`
}

function toResult(agent: string, result: AgentResult, isOwnLedger: boolean): ToolResult {
  const { stop, iterations, text, ledger, refusal, error } = result
  const structured = { agent, stop, iterations, ...(isOwnLedger ? { ledger } : {}) }
  const told = text === '' ? '' : ` It last said: ${text}`
  switch (stop) {
    case 'done':
    case 'length': {
      const costUsd = (ledger.costUsd ?? 0) + ledger.toolCostUsd
      // A shared ledger has counted it already.
      return { ok: true, value: text, structured, ...(isOwnLedger && costUsd > 0 ? { costUsd } : {}) }
    }
    case 'limit':
      return {
        ...failure(
          'execution_failed',
          `${agent} did not finish within ${iterations} turns; give it less to do.${told}`,
        ),
        structured,
      }
    case 'refused':
      return { ...failure('execution_failed', `${agent} refused the task: ${refusal ?? text}`), structured }
    case 'cancelled':
      return { ...failure('cancelled', `${agent} was cancelled.${told}`), structured }
    case 'failed':
      return {
        ...failure('execution_failed', `${agent} could not go on: ${describeError(error)}.${told}`),
        structured,
      }
  }
}

function failure(code: string, error: string): Extract<ToolResult, { ok: false }> {
  return { ok: false, code, error }
}

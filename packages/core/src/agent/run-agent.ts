import type { InputOf, SchemaInput } from '../authoring/define-tool.ts'
import { type AgentOptions, checkAgentOptions } from './agent-options.ts'
import type { AgentResult } from './agent-result.ts'
import { AgentRun, type RunStart } from './agent-run.ts'
import type { MessageOfModel, Model } from './model.ts'
import { type AgentGrants, type PausedRun, pendingOf, withGrants } from './paused-run.ts'
import { listenerFor, type RunningAgent, withSteps } from './running-agent.ts'

/**
 * Lets a model work with a session's tools until it has answered. Does not throw for failures of the model, its
 * provider, the tools or the hooks: the result says how the run ended, and contains the history. Rejects with
 * `config-invalid` for unknown options, values out of range, and a `maxCostUsd` without prices. Without an `onAsk`, a call
 * that needs a person ends the run with `approval`.
 */
export function runAgent<SomeModel extends Model, const Schema extends SchemaInput = SchemaInput>(
  options: AgentOptions<SomeModel, Schema>,
): RunningAgent<AgentResult<MessageOfModel<SomeModel>, InputOf<Schema>>> {
  const run = startRun(options as AgentOptions, { mayPause: true })
  return withSteps(run, options?.session) as never
}

export type ResumeOptions<
  SomeModel extends Model = Model,
  Schema extends SchemaInput = SchemaInput,
  Message = MessageOfModel<SomeModel>,
> = Omit<AgentOptions<SomeModel, Schema, Message>, 'messages' | 'hint' | 'isCompacted'> & {
  readonly paused: PausedRun<Message>
  readonly grants: AgentGrants
}

/**
 * Continues a run that stopped with `approval`, in a session that was opened again if need be. Calls that were refused are
 * answered so; those without an answer keep waiting. The ledger counts from here. Throws as `runAgent()` does.
 */
export function resumeAgent<SomeModel extends Model, const Schema extends SchemaInput = SchemaInput>(
  options: ResumeOptions<SomeModel, Schema>,
): RunningAgent<AgentResult<MessageOfModel<SomeModel>, InputOf<Schema>>> {
  const { paused, grants, ...rest } = options as ResumeOptions
  const answered = async () => withGrants(paused, grants)
  const run = answered().then((start) =>
    startRun({ ...rest, messages: paused.messages }, { mayPause: true, paused: start }),
  )
  return withSteps(run, options.session) as never
}

/** Starts a run, or continues one. */
export async function startRun(options: AgentOptions, start: RunStart): Promise<AgentResult> {
  checkAgentOptions(options)
  const run = new AgentRun(options, start)
  const { session, onEvent } = options
  const unsubscribe = onEvent && session.subscribe(listenerFor(onEvent))
  // Whoever iterates over the steps begins now, before the first one.
  await undefined
  try {
    return resumable(await run.toEnd(), options)
  } finally {
    unsubscribe?.()
  }
}

function resumable(
  result: AgentResult,
  { messages: _, hint: __, isCompacted: ___, ...options }: AgentOptions,
): AgentResult {
  const { paused } = result
  if (!paused) return result
  return {
    ...result,
    pending: pendingOf(paused),
    resume: ({ grants }) => resumeAgent({ ...options, paused, grants }),
  }
}

import type { AskAnswer, AskedCall, AskHandler, Grant } from '../call/ask.ts'
import type { Pausing } from '../call/pausing.ts'
import { ToolcribError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import type { Reply } from '../reply.ts'
import type { CallResult } from '../tool.ts'

/** A call of a run, or of one of its sub-agents, that waits for a person. */
export interface PendingCall extends AskedCall {
  /** Its key in `grants`: the id of the call, after the ids of the calls that started its sub-agents. */
  readonly id: string
}

/** A run that waits for a person: JSON, from which `resumeAgent()` continues, in this process or another. */
export interface PausedRun<Message = unknown, Response = unknown> {
  /** Differs each time a run pauses: from there, it continues once. */
  readonly id: string
  readonly messages: readonly Message[]
  readonly sessionId: string
  readonly iteration: number
  /** The answer of the model with the calls. */
  readonly response: Response
  readonly reply: Reply
  /** The results of those calls that have ended. */
  readonly results: readonly CallResult[]
  readonly pending: readonly AskedCall[]
  readonly answers: readonly AskAnswered[]
  /** The sub-agents that wait, by the id of the call that started each. */
  readonly agents: Readonly<Record<string, PausedRun>>
}

/** What a person answered about a call with these arguments. */
interface AskAnswered extends Pick<AskedCall, 'toolCallId' | 'digest'> {
  readonly answer: Grant | 'deny'
}

/** Answers by the `id` of the pending call. Calls without one keep waiting. */
export type AgentGrants = Readonly<Record<string, Grant | 'deny'>>

/** The calls that a run and its sub-agents wait for. */
export function pendingOf({ pending, agents }: PausedRun): readonly PendingCall[] {
  const ofAgents = Object.entries(agents).flatMap(([call, run]) =>
    pendingOf(run).map((asked) => ({ ...asked, id: `${call}/${asked.id}` })),
  )
  return [...pending.map((asked) => ({ ...asked, id: asked.toolCallId })), ...ofAgents]
}

/** The run with these answers. Throws `config-invalid` for an answer to nothing that waits, and for an unknown answer. */
export function withGrants<Message, Response>(
  paused: PausedRun<Message, Response>,
  grants: AgentGrants,
): PausedRun<Message, Response> {
  const ids = pendingOf(paused).map(({ id }) => id)
  for (const [id, answer] of Object.entries(grants)) {
    if (!ids.includes(id)) {
      const nearest = nearestName(id, ids)
      throw invalid(`no call "${id}" waits${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`)
    }
    if (!ANSWERS.includes(answer)) throw invalid(`the answer to "${id}" must be one of ${ANSWERS.join(', ')}`)
  }
  return answered(paused, grants)
}

const ANSWERS: readonly AskAnswer[] = ['once', 'session', 'always', 'deny']

function answered<Message, Response>(
  paused: PausedRun<Message, Response>,
  grants: AgentGrants,
): PausedRun<Message, Response> {
  const now = paused.pending.flatMap(({ toolCallId, digest }) => {
    const answer = grants[toolCallId]
    return answer === undefined ? [] : [{ toolCallId, digest, answer }]
  })
  const agents = Object.entries(paused.agents).map(([call, run]) => {
    const own = Object.entries(grants).flatMap(([id, answer]) =>
      id.startsWith(`${call}/`) ? [[id.slice(call.length + 1), answer] as const] : [],
    )
    return [call, answered(run, Object.fromEntries(own))] as const
  })
  return { ...paused, answers: [...paused.answers, ...now], agents: Object.fromEntries(agents) }
}

function invalid(problem: string): ToolcribError {
  return new ToolcribError('config-invalid', `grants: ${problem}`)
}

const WAITING = { ok: false, code: 'waiting', error: 'it waits for a person' } as const

/** Collects the calls of one batch that wait for a person. Answers those that were decided before. */
export class PausingBatch implements Pausing {
  readonly pending: AskedCall[] = []
  readonly agents: Record<string, PausedRun> = {}
  readonly #earlier: Pick<PausedRun, 'answers' | 'agents'> | undefined

  constructor(earlier: Pick<PausedRun, 'answers' | 'agents'> | undefined) {
    this.#earlier = earlier
  }

  get isPaused(): boolean {
    return this.pending.length > 0 || Object.keys(this.agents).length > 0
  }

  readonly ask: AskHandler = ({ calls }) =>
    calls.map((call) => {
      const isSame = ({ toolCallId, digest }: AskAnswered) =>
        toolCallId === call.toolCallId && digest === call.digest
      const known = this.#earlier?.answers.find(isSame)
      if (known) return known.answer
      this.pending.push(call)
      return { result: WAITING }
    })

  earlier(toolCallId: string): unknown {
    return this.#earlier?.agents[toolCallId]
  }

  pause(toolCallId: string, state: unknown): void {
    this.agents[toolCallId] = state as PausedRun
  }

  /** Whether a call waits, so that its result is not one. */
  waits({ toolCallId, result }: Pick<CallResult, 'toolCallId' | 'result'>): boolean {
    // A script waits for calls of its own.
    if (!result.ok && result.code === WAITING.code) return true
    return (
      this.agents[toolCallId] !== undefined || this.pending.some((call) => call.toolCallId === toolCallId)
    )
  }
}

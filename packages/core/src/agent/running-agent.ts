import type { Listener } from '../events.ts'
import type { Session } from '../session/session.ts'
import type { AgentEvent } from './agent-event.ts'

/**
 * A run under way: await its result, or iterate over its steps, or both. An iteration that begins at once sees every step;
 * it throws what the promise rejects with. To end a run early, use `signal`: leaving the loop only stops listening.
 */
export interface RunningAgent<Result> extends Promise<Result>, AsyncIterable<AgentEvent> {}

/** Makes the steps of a session's run iterable beside its result. */
export function withSteps<Result>(result: Promise<Result>, session: Session): RunningAgent<Result> {
  return Object.assign(result, { [Symbol.asyncIterator]: () => stepsOf(result, session) })
}

async function* stepsOf(result: Promise<unknown>, session: Session): AsyncGenerator<AgentEvent, void> {
  const waiting: AgentEvent[] = []
  let isOver = false
  let wake = () => {}
  const end = () => {
    isOver = true
    wake()
  }
  result.then(end, end)
  // Options that were refused may have no session.
  const unsubscribe = session?.subscribe?.(
    listenerFor((event) => {
      waiting.push(event)
      wake()
    }),
  )
  try {
    while (!isOver || waiting.length > 0) {
      yield* waiting.splice(0)
      if (!isOver && waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    }
    await result
  } finally {
    unsubscribe?.()
  }
}

/** Passes on the steps of runs from the registry's event stream. */
export function listenerFor(onEvent: (event: AgentEvent) => void): Listener {
  return (event) => {
    if (event.type === 'agent')
      onEvent({ ...event.event, sessionId: event.sessionId ?? '', iteration: event.iteration })
  }
}

import { signal } from '@preact/signals'
import type { EventBatch } from '../api/events.ts'
import type { LiveEvent } from '../record/event-log.ts'
import { linesOf } from './api-client.ts'
import { ApiError } from './request.ts'
import { needsToken, sendSignedIn } from './signed-in.ts'

/** Whether events arrive. */
export const liveState = signal<'connecting' | 'live' | 'lost'>('connecting')
/** Since when the gateway has not answered; undefined while it does. */
export const goneSince = signal<number | undefined>(undefined)
/** The latest events, oldest first. */
export const liveEvents = signal<readonly LiveEvent[]>([])
/** How many events were left out because there were too many. */
export const droppedEvents = signal(0)

const KEPT = 2_000
const listeners = new Set<(events: readonly LiveEvent[]) => void>()

/** Calls back with each batch of new events. Returns a function that stops it. */
export function onEvents(listener: (events: readonly LiveEvent[]) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Follows the event stream, and reconnects when it breaks. */
export function startLive(): void {
  void follow()
  needsToken.subscribe((isNeeded) => {
    if (!isNeeded && liveState.peek() === 'lost') void follow()
  })
}

async function follow(): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      liveState.value = 'connecting'
      const last = liveEvents.peek().at(-1)?.number ?? 0
      const response = await sendSignedIn(`events?after=${last}`)
      liveState.value = 'live'
      goneSince.value = undefined
      attempt = 0
      for await (const piece of linesOf(response, '\n\n'))
        if (piece.startsWith('data: ')) take(piece.slice(6))
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        liveState.value = 'lost'
        return
      }
      // A proxy before a gateway that is gone answers for it.
      if (error instanceof ApiError && (error.status === 0 || error.status >= 500))
        goneSince.value ??= Date.now()
    }
    liveState.value = 'lost'
    await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 500 * 2 ** attempt)))
  }
}

function take(text: string): void {
  const { events, dropped }: EventBatch = JSON.parse(text)
  const last = liveEvents.peek().at(-1)?.number ?? 0
  // A restarted gateway counts from one.
  const known = (events.at(-1)?.number ?? last) < last ? [] : liveEvents.peek()
  liveEvents.value = [...known, ...events].slice(-KEPT)
  droppedEvents.value += dropped
  for (const listener of listeners) listener(events)
}

import type { LiveEvent } from '../record/event-log.ts'
import { count, reading } from './route.ts'
import { streamOf } from './stream.ts'

/** Events arrive in batches, so that a busy registry does not wake the page a thousand times a second. */
const BATCH_MS = 150
const MAX_BATCH = 500
/** How soon a stream ends after its token was revoked, when nothing else happens. */
const BEAT_MS = 10_000

/** What one message of the stream holds. */
export interface EventBatch {
  readonly events: readonly LiveEvent[]
  /** How many were left out, because there were too many or the page did not keep up. */
  readonly dropped: number
}

/** Everything that happens, as server-sent events: what is remembered first, then what comes. */
export const events = reading({ after: count }, ({ history, schedule, closing }, { after }) => {
  let waiting: LiveEvent[] = []
  let dropped = 0
  let cancel: (() => void) | undefined
  const flush = () => {
    cancel = undefined
    if (stream.isReady) {
      const batch: EventBatch = { events: waiting, dropped }
      stream.send(`data: ${JSON.stringify(batch)}\n\n`)
      dropped = 0
    } else dropped += waiting.length
    waiting = []
  }
  const stop = history.events.follow((event) => {
    if (waiting.length < MAX_BATCH) waiting.push(event)
    else dropped++
    cancel ??= schedule(BATCH_MS, flush)
  })
  let stopBeat = () => {}
  const beat = () => {
    // A comment, which readers ignore.
    if (stream.isReady) stream.send(':\n\n')
    stopBeat = schedule(BEAT_MS, beat)
  }
  const detach = () => {
    stop()
    cancel?.()
    stopBeat()
    closing.removeEventListener('abort', end)
  }
  const stream = streamOf('text/event-stream', detach)
  const end = () => {
    detach()
    stream.end()
  }
  closing.addEventListener('abort', end, { once: true })
  const known: EventBatch = { events: history.events.after(after), dropped: 0 }
  stream.send(`data: ${JSON.stringify(known)}\n\n`)
  stopBeat = schedule(BEAT_MS, beat)
  return stream.response
})

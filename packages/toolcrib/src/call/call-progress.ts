import type { McpEvent } from '@toolcrib/mcp'
import { type ProgressStream, progressLine } from '../terminal/terminal.ts'
import { plain } from '../terminal/text.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const FRAME_MS = 100
/** Somebody who waits longer than this may want to stop it. */
const LONG_S = 2

export interface CallProgressOptions {
  readonly stream: ProgressStream
  readonly now?: () => number
  /** Calls back at an interval until the returned function is called. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void
}

export interface CallProgress {
  note(event: McpEvent): void
  during<Value>(work: Promise<Value>): Promise<Value>
}

/** A line that shows how long a call has been running, and the progress that its server reports. */
export function callProgress(
  name: string,
  { stream, now = Date.now, every = everyTick }: CallProgressOptions,
): CallProgress {
  const line = progressLine(stream)
  let said = ''
  return {
    note: (event) => {
      if (event.type === 'call-progress') said = describe(event)
    },
    during: async (work) => {
      const startedAt = now()
      let frame = 0
      const stop = every(FRAME_MS, () => {
        const seconds = Math.floor((now() - startedAt) / 1000)
        const step = seconds < LONG_S || said !== '' ? '' : 'Ctrl-C cancels it'
        const parts = [`${FRAMES[frame++ % FRAMES.length]} ${plain(name)}`, `${seconds} s`, said, step]
        line.show(parts.filter(Boolean).join('  '))
      })
      try {
        return await work
      } finally {
        stop()
        line.clear()
      }
    },
  }
}

function describe({ progress, total, message }: Extract<McpEvent, { type: 'call-progress' }>): string {
  const share = total === undefined ? String(progress) : `${progress} of ${total}`
  return message === undefined ? share : `${share}  ${plain(message)}`
}

function everyTick(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs)
  return () => clearInterval(timer)
}

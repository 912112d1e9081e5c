import type { Mask } from '../secrets/mask.ts'
import type { CallProgress, ProgressNote } from '../tool.ts'

/** Passes a tool's progress to the host until its call ends. */
export class ProgressReport {
  readonly #toolCallId: string
  readonly #listener: (note: CallProgress) => void
  readonly #mask: Mask | undefined
  #isOver = false

  constructor(toolCallId: string, listener: (note: CallProgress) => void, mask: Mask | undefined) {
    this.#toolCallId = toolCallId
    this.#listener = listener
    this.#mask = mask
  }

  /** Passes a note on with secrets masked. Drops invalid notes. Never throws. */
  readonly tell = (note: ProgressNote): void => {
    if (this.#isOver) return
    try {
      const { progress, total, message } = note
      if (typeof progress !== 'number') return
      this.#listener({
        toolCallId: this.#toolCallId,
        progress,
        ...(typeof total === 'number' ? { total } : undefined),
        ...(typeof message === 'string' ? { message: this.#mask?.(message) ?? message } : undefined),
      })
    } catch {
      // A failing listener or mask must not fail the call.
    }
  }

  end(): void {
    this.#isOver = true
  }
}

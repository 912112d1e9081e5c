import type { Mask } from '../secrets/mask.ts'
import type { CallProgress, ProgressNote } from '../tool.ts'

/** Carries what a tool tells of its progress to the host, until its call is answered. */
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

  /** Hands a note on, without the secrets of backends. What makes no sense is dropped. Never throws. */
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
      // A listener that fails, or a mask, is no reason for a call to.
    }
  }

  end(): void {
    this.#isOver = true
  }
}

import type { CallPausing } from '../tool.ts'
import type { AskHandler } from './ask.ts'

/** Lets a caller pause instead of refusing calls that need a person. Implemented by the batches of `runAgent`. */
export interface Pausing extends CallPausing {
  /** Asked if there is no `onAsk`. */
  readonly ask: AskHandler
}

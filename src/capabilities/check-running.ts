import { CapabilityError } from '../capability.ts'

/** Throws when the call is over: nothing is started for a call that nobody waits for. */
export function checkRunning(signal: AbortSignal): void {
  if (signal.aborted)
    throw new CapabilityError('cancelled', 'the call was cancelled', { cause: signal.reason })
}

import { CapabilityError } from '@toolcrib/core'

/** Throws `cancelled` if the call has been cancelled, so that no further work starts. */
export function checkRunning(signal: AbortSignal): void {
  if (signal.aborted)
    throw new CapabilityError('cancelled', 'the call was cancelled', { cause: signal.reason })
}

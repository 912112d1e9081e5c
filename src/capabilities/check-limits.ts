import { ToolcribError } from '../errors.ts'

/** The longest delay a platform timer supports; a longer one fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Throws `config-invalid` unless each given limit is an integer of at least `least`; `…Ms` limits must fit a timer.
 */
export function checkLimits(
  what: string,
  limits: { readonly [name: string]: number | undefined },
  least = 1,
): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue
    const most = name.endsWith('Ms') ? MAX_TIMER_MS : Number.MAX_SAFE_INTEGER
    if (Number.isInteger(value) && value >= least && value <= most) continue
    throw new ToolcribError(
      'config-invalid',
      `${what}: ${name} must be a whole number from ${least} to ${most}, not ${value}`,
    )
  }
}

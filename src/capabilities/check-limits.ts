import { ToolcribError } from '../errors.ts'

/** The longest a timer of the platform waits; beyond it, it fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Throws `config-invalid` unless each limit that is given is a whole number from `least` on; `…Ms` fit a timer. */
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

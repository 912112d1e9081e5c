import { checkOptions, numberFrom, type OptionRules } from '@toolcrib/core/internal'

/** Limits of each script. */
export interface ScriptLimits {
  /** Milliseconds of computing, without what its calls take. 2,000. */
  readonly cpuMs: number
  /** Milliseconds from start to end, without pauses. 60,000. */
  readonly wallMs: number
  /** Megabytes of the machine that it runs in. 64. */
  readonly memoryMb: number
  /** How many calls it may make. 1,000. */
  readonly maxCalls: number
  /** How many of them run at once. 16. */
  readonly maxParallel: number
  /** Characters of the arguments of one call. 1,000,000. */
  readonly argumentChars: number
  /** Characters of what it returns, and of what one call returns to it. 4,000,000. */
  readonly resultChars: number
  /** Characters that it may print. 10,000. */
  readonly printChars: number
  /** Characters of its source. 100,000. */
  readonly sourceChars: number
  /** How many scripts run at once; others wait. 4. */
  readonly maxScripts: number
  /** How long a process that continues a paused script may be silent before another may take over. 30,000. */
  readonly leaseMs: number
  /** How long a paused script waits for a person. 24 hours. */
  readonly ttlMs: number
}

const LIMITS: ScriptLimits = {
  cpuMs: 2_000,
  wallMs: 60_000,
  memoryMb: 64,
  maxCalls: 1_000,
  maxParallel: 16,
  argumentChars: 1_000_000,
  resultChars: 4_000_000,
  printChars: 10_000,
  sourceChars: 100_000,
  maxScripts: 4,
  leaseMs: 30_000,
  ttlMs: 24 * 60 * 60_000,
}

const RULES = Object.fromEntries(
  Object.keys(LIMITS).map((key) => [key, numberFrom(1)]),
) as OptionRules<ScriptLimits>

/** Throws `config-invalid` for an unknown limit, and for one below 1. */
export function limitsOf(given: Partial<ScriptLimits> = {}): ScriptLimits {
  checkOptions('scripts() limits', given, RULES)
  return { ...LIMITS, ...given }
}

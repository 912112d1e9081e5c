/** A token count from a provider; 0 for anything but a positive number. */
export function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** The place of a block in a stream; all blocks without a number share one. Converting anything else may throw. */
export function readIndex(value: unknown): number {
  return typeof value === 'number' && !Number.isNaN(value) ? value : -1
}

/** A string from a provider; `''` for anything else. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

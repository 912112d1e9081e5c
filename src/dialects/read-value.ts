/** A token count from a provider; 0 for anything but a positive number. */
export function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** A string from a provider; `''` for anything else. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A number of tokens as a provider reports it; 0 for anything that is not a positive number. */
export function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** A text as a provider sends it; `''` for anything that is not one. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

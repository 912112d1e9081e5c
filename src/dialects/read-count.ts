/** A number of tokens as a provider reports it; 0 for anything that is not a number. */
export function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

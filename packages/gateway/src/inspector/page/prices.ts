import { signal } from '@preact/signals'

/** What a million tokens of input cost, in dollars, uncached; list prices of November 2026. */
export const PRICES = [
  { model: 'Opus 5.5', dollars: 4 },
  { model: 'GPT-6.1 Sol', dollars: 2 },
] as const

const KEPT = 'toolcrib-price'

/** Dollars per million tokens, as chosen. */
export const price = signal(Number(localStorage.getItem(KEPT)) || PRICES[0].dollars)

export function choosePrice(dollars: number): void {
  if (!(dollars > 0)) return
  price.value = dollars
  localStorage.setItem(KEPT, String(dollars))
}

export function costOf(tokens: number): number {
  return (tokens * price.value) / 1_000_000
}

import { canonicalJson } from '../json.ts'

/** Counts the work of a check. */
interface Work {
  spend(units: number): void
  giveUp(reason: string): never
}

/** Whether no two items are equal. */
export function areUnique(items: readonly unknown[], work: Work): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    weigh(item, work, 0)
    // Strings are prefixed, so that none equals the JSON of an object.
    seen.add(typeof item === 'object' ? canonicalJson(item) : typeof item === 'string' ? `"${item}` : item)
  }
  return seen.size === items.length
}

/** Charges the budget for serialising a value, before serialising it. */
function weigh(value: unknown, work: Work, depth: number): void {
  work.spend(60)
  if (typeof value === 'string') work.spend(value.length * 2)
  if (typeof value !== 'object' || value === null) return
  // Far deeper than real data; beyond it, serialising would overflow the stack.
  if (depth > MAX_ITEM_DEPTH) work.giveUp(`an item is nested more than ${MAX_ITEM_DEPTH} levels deep`)
  for (const [key, nested] of Object.entries(value)) {
    work.spend(100 + key.length * 2)
    weigh(nested, work, depth + 1)
  }
}

const MAX_ITEM_DEPTH = 400

const DECIMAL_COST = 1_000

// Compares decimal digits: 0.3 is a multiple of 0.1, though not in binary.
export function isMultiple(value: number, divisor: number, work: Work): boolean {
  if (Number.isInteger(value / divisor) && Number.isSafeInteger(value) && Number.isSafeInteger(divisor))
    return true
  if (!Number.isFinite(value)) return false
  work.spend(DECIMAL_COST)
  const [digits, exponent] = decimal(value)
  const [divisorDigits, divisorExponent] = decimal(divisor)
  const shift = exponent - divisorExponent
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : digits
  const unit = shift >= 0 ? divisorDigits : divisorDigits * 10n ** BigInt(-shift)
  return scaled % unit === 0n
}

/** Splits a number into its digits and a power of ten. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [mantissa = '', power = '0'] = String(Math.abs(value)).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(power) - fraction.length]
}

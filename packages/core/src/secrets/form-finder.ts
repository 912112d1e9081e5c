/** A part of a text, and what takes its place. */
export type Range = readonly [start: number, end: number, mask: string]

/** How many letters are compared at once; no form is shorter. */
const KEY_LENGTH = 6
/** From this length on, the start or end of a truncated secret reveals too much. */
const MIN_CUT_LENGTH = 12
const SLOTS = 1 << 16
const FACTOR = 0x01000193
/** `FACTOR` to the power of `KEY_LENGTH`: the weight of the letter that leaves the window. */
const LEAVING = Array.from({ length: KEY_LENGTH }).reduce<number>((power) => Math.imul(power, FACTOR), 1)

/**
 * Finds any of many forms in a text in one pass: a hash of each six letters says whether a form may begin or, truncated,
 * end there.
 */
export class FormFinder {
  readonly #masks: ReadonlyMap<string, string>
  readonly #isCutAlso: boolean
  readonly #slots = new Uint8Array(SLOTS)
  /** Forms by their first letters. */
  readonly #heads = new Map<string, string[]>()
  /** Forms that may be truncated, by the letters with which the shortest end begins. */
  readonly #tails = new Map<string, string[]>()

  /** `masks` has what takes the place of each form. */
  constructor(
    masks: ReadonlyMap<string, string>,
    { isCutAlso = true }: { readonly isCutAlso?: boolean } = {},
  ) {
    this.#masks = masks
    this.#isCutAlso = isCutAlso
    for (const form of masks.keys()) {
      this.#note(this.#heads, form.slice(0, KEY_LENGTH), form)
      if (isCutAlso && canBeCut(form))
        this.#note(this.#tails, keyAt(form, form.length - MIN_CUT_LENGTH), form)
    }
  }

  /** Where any of the forms occurs, whole or truncated, in no particular order. */
  rangesIn(text: string): Range[] {
    const found: Range[] = []
    let hash = 0
    for (let at = 0; at < text.length; at++) {
      hash = (Math.imul(hash, FACTOR) + text.charCodeAt(at)) | 0
      if (at >= KEY_LENGTH) hash = (hash - Math.imul(text.charCodeAt(at - KEY_LENGTH), LEAVING)) | 0
      const start = at - KEY_LENGTH + 1
      if (start >= 0 && this.#slots[slotOf(hash)] === 1) this.#look(text, start, found)
    }
    return found
  }

  #note(places: Map<string, string[]>, key: string, form: string): void {
    const known = places.get(key)
    if (known) known.push(form)
    else places.set(key, [form])
    let hash = 0
    for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, FACTOR) + key.charCodeAt(at)) | 0
    this.#slots[slotOf(hash)] = 1
  }

  #look(text: string, at: number, found: Range[]): void {
    const key = keyAt(text, at)
    for (const form of this.#heads.get(key) ?? []) {
      const length = text.startsWith(form, at) ? form.length : this.#cutLength(text, at, form)
      if (length > 0) found.push([at, at + length, this.#masks.get(form) ?? ''])
    }
    for (const form of this.#tails.get(key) ?? []) {
      const end = at + MIN_CUT_LENGTH
      if (text.slice(at, end) !== form.slice(-MIN_CUT_LENGTH)) continue
      let length = MIN_CUT_LENGTH
      while (length < form.length && text[end - length - 1] === form[form.length - length - 1]) length++
      if (CUT_BEFORE.test(text.slice(Math.max(0, end - length - 1), end - length)))
        found.push([end - length, end, this.#masks.get(form) ?? ''])
    }
  }

  /** How much of a form begins here before a cut; 0 if there is none. */
  #cutLength(text: string, at: number, form: string): number {
    if (!this.#isCutAlso || !canBeCut(form) || !text.startsWith(form.slice(0, MIN_CUT_LENGTH), at)) return 0
    let length = MIN_CUT_LENGTH
    while (length < form.length && text[at + length] === form[length]) length++
    return CUT_AFTER.test(text.slice(at + length, at + length + 3)) ? length : 0
  }
}

/** The ranges by their start. Overlapping ones are merged, so that no part of a secret remains. */
export function merged(ranges: readonly Range[]): Range[] {
  const all: Range[] = []
  for (const range of ranges.toSorted((first, second) => first[0] - second[0] || second[1] - first[1])) {
    const last = all.at(-1)
    if (last === undefined || range[0] > last[1]) all.push(range)
    else all[all.length - 1] = [last[0], Math.max(last[1], range[1]), last[2]]
  }
  return all
}

/** What follows the start of a truncated text, and what precedes the end of one. */
const CUT_AFTER = /^(?:…|\.{3}|\r?\n|$)/
const CUT_BEFORE = /(?:^|…|\n)$/

/** The header and footer lines of a PEM key are not secret. */
function canBeCut(form: string): boolean {
  return form.length >= 2 * MIN_CUT_LENGTH && !form.startsWith('-----')
}

function keyAt(text: string, at: number): string {
  return text.slice(at, at + KEY_LENGTH)
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (SLOTS - 1)
}

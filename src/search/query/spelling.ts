import { STOP_WORDS } from '../lexical/text-words.ts'

/** Shorter words are near to too many others, and nobody types longer ones. */
const MIN_LETTERS = 4
const MAX_LETTERS = 24

/** From this length on, a word may have two mistakes. */
const TWO_MISTAKES_FROM = 8

/** Maximum words of a catalogue that one word is compared with: those with a similar length and the same beginning. */
const MAX_COMPARED = 2_000

/** Maximum words to return. */
const MAX_NEAR = 8

/** Frequent in descriptions, and not what a request is about. */
const SELDOM_MEANT: ReadonlySet<string> = new Set(['one', 'whether', 'within', 'without'])

/** Finds the words of a catalogue that a misspelt word may have been meant to be. */
export class Spelling {
  /** By length and first letter. */
  readonly #groups = new Map<string, string[]>()

  constructor(words: Iterable<string>) {
    for (const word of words) {
      if (!isPlain(word) || STOP_WORDS.has(word) || SELDOM_MEANT.has(word)) continue
      const key = groupOf(word.length, word)
      const group = this.#groups.get(key)
      if (group === undefined) this.#groups.set(key, [word])
      else group.push(word)
    }
  }

  /**
   * The words that differ by one mistake, or by two from a long word: only those with the fewest, and only those with the same
   * letters in another order if there are any, which is the likeliest mistake.
   */
  near(word: string): readonly string[] {
    if (word.length < MIN_LETTERS || !isPlain(word)) return []
    let most = word.length < TWO_MISTAKES_FROM ? 1 : 2
    let near: string[] = []
    for (const candidate of this.#candidates(word, most)) {
      const mistakes = mistakesBetween(word, candidate, most)
      if (mistakes > most) continue
      if (mistakes < most) near = []
      most = mistakes
      near.push(candidate)
    }
    const sameLetters = near.filter((one) => lettersOf(one) === lettersOf(word))
    return (sameLetters.length > 0 ? sameLetters : near).slice(0, MAX_NEAR)
  }

  /** Words that begin alike: hardly anybody mistypes the first letter, unless it changes places with the second. */
  *#candidates(word: string, most: number): Generator<string> {
    const swapped = `${word[1]}${word[0]}`
    let left = MAX_COMPARED
    for (let length = word.length - most; length <= word.length + most; length++) {
      for (const start of new Set([word.slice(0, 1), swapped])) {
        for (const candidate of this.#groups.get(groupOf(length, start)) ?? []) {
          if (!candidate.startsWith(start)) continue
          if (left-- === 0) return
          yield candidate
        }
      }
    }
  }
}

function isPlain(word: string): boolean {
  return word.length < MAX_LETTERS && /^[a-z]+$/.test(word)
}

function lettersOf(word: string): string {
  return [...word].sort().join('')
}

function groupOf(length: number, start: string): string {
  return `${length}${start[0]}`
}

/**
 * Letters that are missing, added, replaced or swapped with their neighbour between two words; more than `most` if there are
 * more.
 */
function mistakesBetween(a: string, b: string, most: number): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    let least = row
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let mistakes = Math.min(
        (previous[column - 1] as number) + (isSame ? 0 : 1),
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
      )
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwapped && !isSame) mistakes = Math.min(mistakes, (before[column - 2] as number) + 1)
      current.push(mistakes)
      least = Math.min(least, mistakes)
    }
    if (least > most) return least
    before = previous
    previous = current
  }
  return previous[b.length] as number
}

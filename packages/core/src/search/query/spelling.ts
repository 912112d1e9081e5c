import { STOP_WORDS } from '../lexical/text-words.ts'

/** Shorter words are near to too many others, and nobody types longer ones. */
const MIN_LETTERS = 4
const MAX_LETTERS = 24

/** From this length on, a word may have two mistakes. */
const TWO_MISTAKES_FROM = 8

/**
 * A replaced letter counts a little more than others, so that no word has two, and only in words of this length: names of
 * services that no tool has are short, and a letter away from a word ("coda", "vimeo").
 */
const REPLACED = 1.25
const REPLACED_FROM = 6

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
   * The accepted words that differ by one mistake, or by two from a long word: only those with the fewest, and only those with
   * the same letters in another order if there are any, which is the likeliest mistake.
   */
  near(word: string, accepts: (candidate: string) => boolean = () => true): readonly string[] {
    if (word.length < MIN_LETTERS || !isPlain(word)) return []
    const letters = word.length < TWO_MISTAKES_FROM ? 1 : 2
    let most = letters - 1 + REPLACED
    let near: string[] = []
    for (const candidate of this.#candidates(word, letters)) {
      const mistakes = mistakesBetween(word, candidate, most)
      if (mistakes > most || !accepts(candidate)) continue
      if (mistakes < most) near = []
      most = mistakes
      near.push(candidate)
    }
    const sameLetters = near.filter((one) => lettersOf(one) === lettersOf(word))
    return (sameLetters.length > 0 ? sameLetters : near).slice(0, MAX_NEAR)
  }

  /**
   * Words that begin alike: hardly anybody mistypes the first letter, unless it changes places with the second. Those with as
   * many letters first.
   */
  *#candidates(word: string, letters: number): Generator<string> {
    const swapped = `${word[1]}${word[0]}`
    let left = MAX_COMPARED
    for (const more of [0, 1, -1, 2, -2].filter((count) => Math.abs(count) <= letters)) {
      const length = word.length + more
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
 * How many letters are missing from a written word, doubled by mistake, replaced, or swapped with their neighbour; more than
 * `most` if there are more. No other letter may be added: a word with a letter more is likely another one ("marketo").
 */
function mistakesBetween(written: string, meant: string, most: number): number {
  const replaced = written.length < REPLACED_FROM ? Number.POSITIVE_INFINITY : REPLACED
  let before: number[] = []
  let previous = Array.from({ length: meant.length + 1 }, (_, column) => column)
  for (let row = 1; row <= written.length; row++) {
    const letter = written[row - 1]
    const isDoubled = letter === written[row - 2] || letter === written[row]
    const added = isDoubled ? 1 : Number.POSITIVE_INFINITY
    const current = [(previous[0] as number) + added]
    let least = current[0] as number
    for (let column = 1; column <= meant.length; column++) {
      const isSame = letter === meant[column - 1]
      let mistakes = Math.min(
        (previous[column - 1] as number) + (isSame ? 0 : replaced),
        (previous[column] as number) + added,
        (current[column - 1] as number) + 1,
      )
      const isSwapped =
        row > 1 && column > 1 && letter === meant[column - 2] && written[row - 2] === meant[column - 1]
      if (isSwapped && !isSame) mistakes = Math.min(mistakes, (before[column - 2] as number) + 1)
      current.push(mistakes)
      least = Math.min(least, mistakes)
    }
    // A swap reaches back two rows.
    if (least > most && Math.min(...previous) > most) return least
    before = previous
    previous = current
  }
  return previous[meant.length] as number
}

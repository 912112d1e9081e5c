import type { Term } from './scoreboard.ts'
import { STOP_WORDS } from './stop-words.ts'
import { wordsOf } from './text-words.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Words of a query that are read; what follows in a pasted novel changes nothing any more. */
const MAX_WORDS = 256

/** What the very word of the query adds to its stem: `listing` and `list` share a stem and often not a meaning. */
const SAME_WORD = 0.5

/** A term of the query and the places of its words among the written ones. */
export interface QueryTerm extends Term {
  readonly written: number[]
}

/** Turns written words into the terms of an index; stop words count only when there is nothing else. */
export function queryTerms(words: readonly string[], vocabulary: Vocabulary, listings: number): QueryTerm[] {
  const terms = readTerms(words, vocabulary, listings, (word) => !STOP_WORDS.has(word))
  return terms.length > 0 ? terms : readTerms(words, vocabulary, listings, () => true)
}

function readTerms(
  words: readonly string[],
  vocabulary: Vocabulary,
  listings: number,
  isRead: (word: string) => boolean,
): QueryTerm[] {
  const drafts = new Map<
    number | string,
    { stem: number | undefined; words: Set<string>; repeats: number; written: number[] }
  >()
  for (const [place, written] of words.slice(0, MAX_WORDS).entries()) {
    for (const word of wordsOf(written)) {
      if (!isRead(word)) continue
      const stem = vocabulary.findStem(word)
      const draft = drafts.get(stem ?? word)
      if (draft === undefined)
        drafts.set(stem ?? word, { stem, words: new Set([word]), repeats: 1, written: [place] })
      else {
        draft.words.add(word)
        draft.repeats++
        draft.written.push(place)
      }
    }
  }
  return [...drafts.values()].map((draft): QueryTerm => {
    const cover = rarity(draft.stem === undefined ? 0 : vocabulary.listingsWith(draft.stem), listings)
    // Said twice is meant more, but not twice as much.
    const emphasis = 1 + Math.log(draft.repeats)
    const forms: { list: number; weight: number }[] = []
    if (draft.stem !== undefined) {
      const asked = [...draft.words].map((word) => vocabulary.find(word))
      for (
        let form = vocabulary.firstForm(draft.stem);
        form !== undefined;
        form = vocabulary.nextForm(form)
      ) {
        const held = vocabulary.postings.lengths[form] ?? 0
        forms.push({
          list: form,
          weight: asked.includes(form) ? SAME_WORD * emphasis * rarity(held, listings) : 0,
        })
      }
    }
    return { weight: emphasis * cover, cover, forms, written: draft.written }
  })
}

/** Inverse document frequency: what a word held by `held` of `all` listings tells. */
function rarity(held: number, all: number): number {
  return Math.log(1 + (all - held + 0.5) / (held + 0.5))
}

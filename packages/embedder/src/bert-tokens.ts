import { wordPieces } from './word-pieces.ts'

/** Tokenises a text as BERT's uncased models do: lower case, no accents, punctuation and Han characters separate. */
export class BertTokens {
  readonly #vocabulary: ReadonlyMap<string, number>
  readonly #maxTokens: number

  /** `maxTokens` includes the markers at both ends. */
  constructor(vocabulary: ReadonlyMap<string, number>, maxTokens: number) {
    this.#vocabulary = vocabulary
    this.#maxTokens = maxTokens
  }

  idsOf(text: string): number[] {
    const ids = [this.#mark('[CLS]')]
    for (const [word] of normalized(text).matchAll(WORD)) {
      const pieces = wordPieces(word, this.#vocabulary)
      if (pieces.length === 0) ids.push(this.#mark('[UNK]'))
      else ids.push(...pieces)
      if (ids.length >= this.#maxTokens) break
    }
    ids.length = Math.min(ids.length, this.#maxTokens - 1)
    ids.push(this.#mark('[SEP]'))
    return ids
  }

  #mark(name: string): number {
    return this.#vocabulary.get(name) ?? 0
  }
}

const WORD = /[\p{P}$+<=>^`|~\p{Script=Han}]|[^\s\p{P}$+<=>^`|~\p{Script=Han}]+/gu

function normalized(text: string): string {
  return text
    .replace(/[\0\uFFFD]|(?![\t\n\r])\p{C}/gu, '')
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}+/gu, '')
}

import { wordPieces } from './word-pieces.ts'

/** Maximum words whose tokens are cached; catalogues and queries repeat most words. */
const MAX_REMEMBERED = 20_000

/** Long numbers are amounts, years and identifiers; they say nothing about a text's topic. */
const NUMBER = /^\d{4,}$/

/**
 * Converts texts to token numbers of a vocabulary. A word is a run of letters and digits; an unknown word is split at
 * its capitals (`listPullRequests`) and then into pieces. Punctuation is ignored.
 */
export class TextTokens {
  readonly #vocabulary: ReadonlyMap<string, number>
  readonly #remembered = new Map<string, readonly number[]>()

  constructor(vocabulary: ReadonlyMap<string, number>) {
    this.#vocabulary = vocabulary
  }

  /** Whether a word is one token. */
  knows(word: string): boolean {
    return this.#vocabulary.has(word.toLowerCase())
  }

  /** About the first `maxTokens` tokens of a text: words are not split. */
  read(text: string, maxTokens: number): number[] {
    const tokens: number[] = []
    let start = -1
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : SPACE
      // Rare in tool texts: the rest, from the start of this word, takes the slower path.
      if (code >= ASCII_END) return this.#readUnicode(text.slice(start < 0 ? at : start), tokens, maxTokens)
      if (IS_WORD[code] === 1) {
        if (start < 0) start = at
      } else if (start >= 0) {
        for (const token of this.#tokensOf(text.slice(start, at))) tokens.push(token)
        if (tokens.length >= maxTokens) return tokens
        start = -1
      }
    }
    return tokens
  }

  #readUnicode(text: string, tokens: number[], maxTokens: number): number[] {
    for (const [word] of text.normalize('NFKC').matchAll(WORD)) {
      for (const token of this.#tokensOf(withoutAccents(word))) tokens.push(token)
      if (tokens.length >= maxTokens) return tokens
    }
    return tokens
  }

  #tokensOf(word: string): readonly number[] {
    const known = this.#remembered.get(word)
    if (known !== undefined) return known
    const tokens = this.#splitWord(word)
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(word, tokens)
    return tokens
  }

  #splitWord(word: string): number[] {
    if (NUMBER.test(word)) return []
    const lower = word.toLowerCase()
    const whole = this.#vocabulary.get(lower)
    if (whole !== undefined) return [whole]
    const humps = word.match(HUMP) ?? []
    if (humps.length < 2) return wordPieces(lower, this.#vocabulary)
    return humps.flatMap((hump) => wordPieces(hump.toLowerCase(), this.#vocabulary))
  }
}

const SPACE = 32
const ASCII_END = 128
const IS_WORD = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
)

// Each Han character is a token; other scripts without spaces are split into pieces.
const WORD = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}])+/gu

// `HTTPServer2Go` → `HTTP`, `Server2`, `Go`
const HUMP = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[^\p{Lu}]+/gu

function withoutAccents(word: string): string {
  return word
    .normalize('NFD')
    .replace(/\p{Mn}+/gu, '')
    .normalize('NFC')
}

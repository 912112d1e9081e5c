/** Longer runs are not words but hashes, keys or encoded data. */
const MAX_WORD_LENGTH = 100

/** The prefix of a piece that continues a word. */
const CONTINUES = '##'

/**
 * Splits a lower-case word into the longest pieces in a vocabulary, from the left (WordPiece). Returns an empty list
 * if the word cannot be split.
 */
export function wordPieces(word: string, vocabulary: ReadonlyMap<string, number>): number[] {
  const whole = vocabulary.get(word)
  if (whole !== undefined) return [whole]
  if (word.length > MAX_WORD_LENGTH) return []
  const pieces: number[] = []
  let start = 0
  while (start < word.length) {
    let end = word.length
    let piece: number | undefined
    for (; end > start && piece === undefined; end--) {
      const part = word.slice(start, end)
      piece = vocabulary.get(start === 0 ? part : CONTINUES + part)
    }
    if (piece === undefined) return []
    pieces.push(piece)
    start = end + 1
  }
  return pieces
}

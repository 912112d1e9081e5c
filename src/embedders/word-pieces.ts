/** Longer runs are not words but hashes, keys, encoded data. */
const MAX_WORD_LENGTH = 100

/** What a piece that continues a word starts with in a vocabulary. */
const CONTINUES = '##'

/**
 * Splits a lower-case word into the longest pieces that a vocabulary holds, from the left (WordPiece). A word that
 * cannot be split gives no piece.
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

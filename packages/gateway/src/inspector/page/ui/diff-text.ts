import { diffItems, type DiffItem as Piece } from '@toolcrib/core/internal'

/** Compares by character; neighbouring changes are joined, also across short equal parts. */
export function diffCharacters(before: string, after: string): Piece[] {
  const pieces = joined(diffItems([...before], [...after]))
  return withoutScraps(withoutScraps(pieces, isScrap), isLost)
}

/** A shorter common part between two changes is a coincidence: showing it would split words. */
const MIN_SAME = 4
/** So is one that is this much shorter than the changes around it, such as a "the" between two sentences. */
const SAME_SHARE = 8

function withoutScraps(
  pieces: readonly Piece[],
  isScrap: (pieces: readonly Piece[], index: number) => boolean,
): Piece[] {
  const result: Piece[] = []
  let removed = ''
  let added = ''
  const flush = () => {
    if (removed !== '') result.push({ kind: 'removed', text: removed })
    if (added !== '') result.push({ kind: 'added', text: added })
    removed = ''
    added = ''
  }
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === 'same' && !isScrap(pieces, index)) {
      flush()
      result.push(piece)
      continue
    }
    if (piece.kind !== 'added') removed += piece.text
    if (piece.kind !== 'removed') added += piece.text
  }
  flush()
  return result
}

function isScrap(pieces: readonly Piece[], index: number): boolean {
  const { text = '' } = pieces[index] ?? {}
  const { length } = [...text]
  if (pieces.length === 1 || length >= MIN_SAME) return false
  if (index > 0 && index < pieces.length - 1) return true
  // At either end it is one where it cuts a word: numb|er, integ|er.
  const beside = index === 0 ? pieces.slice(1, 3) : pieces.slice(-3, -1)
  const touching = beside.map((each) => each.text.at(index === 0 ? 0 : -1) ?? '')
  return /^\p{L}+$/u.test(text) && touching.every((letter) => /\p{L}/u.test(letter))
}

/** Whether a common part is lost between the changes on both sides of it. */
function isLost(pieces: readonly Piece[], index: number): boolean {
  if (index === 0 || index === pieces.length - 1) return false
  let sum = 0
  for (const step of [-1, 1])
    for (let at = index + step; ; at += step) {
      const piece = pieces[at]
      if (piece === undefined || piece.kind === 'same') break
      sum += piece.text.length
    }
  return SAME_SHARE * (pieces[index]?.text.length ?? 0) < sum
}

function joined(pieces: readonly Piece[]): Piece[] {
  const result: { kind: Piece['kind']; text: string[] }[] = []
  for (const { kind, text } of pieces) {
    const last = result.at(-1)
    if (last?.kind === kind) last.text.push(text)
    else result.push({ kind, text: [text] })
  }
  return result.map(({ kind, text }) => ({ kind, text: text.join('') }))
}

/** A piece of a comparison. */
export interface Piece {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Beyond this, the middle is shown as replaced: a comparison must not block the page. */
const MAX_CELLS = 4_000_000

/** Compares two lists, keeping the longest common part. */
function diffItems(before: readonly string[], after: readonly string[]): Piece[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++
  const pieces: Piece[] = before.slice(0, start).map((text) => ({ kind: 'same', text }))
  const [gone, come] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  pieces.push(...(gone.length * come.length > MAX_CELLS ? replaced(gone, come) : compared(gone, come)))
  pieces.push(...before.slice(before.length - end).map((text): Piece => ({ kind: 'same', text })))
  return pieces
}

/** Compares by character; neighbouring changes are joined, also across short equal parts. */
export function diffCharacters(before: string, after: string): Piece[] {
  return withoutScraps(joined(diffItems([...before], [...after])))
}

/** A shorter common part between two changes is a coincidence: showing it would split words. */
const MIN_SAME = 4

function withoutScraps(pieces: readonly Piece[]): Piece[] {
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
  if (pieces.length === 1 || [...text].length >= MIN_SAME) return false
  if (index > 0 && index < pieces.length - 1) return true
  // At either end it is one where it cuts a word: numb|er, integ|er.
  const beside = index === 0 ? pieces.slice(1, 3) : pieces.slice(-3, -1)
  const touching = beside.map((each) => each.text.at(index === 0 ? 0 : -1) ?? '')
  return /^\p{L}+$/u.test(text) && touching.every((letter) => /\p{L}/u.test(letter))
}

function replaced(gone: readonly string[], come: readonly string[]): Piece[] {
  return [
    ...gone.map((text): Piece => ({ kind: 'removed', text })),
    ...come.map((text): Piece => ({ kind: 'added', text })),
  ]
}

function compared(gone: readonly string[], come: readonly string[]): Piece[] {
  const width = come.length + 1
  const lengths = new Uint32Array((gone.length + 1) * width)
  for (let row = gone.length - 1; row >= 0; row--)
    for (let column = come.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        gone[row] === come[column]
          ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1
          : Math.max(lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0)
  const pieces: Piece[] = []
  let [row, column] = [0, 0]
  while (row < gone.length || column < come.length) {
    const isSame = row < gone.length && column < come.length && gone[row] === come[column]
    if (isSame) {
      pieces.push({ kind: 'same', text: gone[row] ?? '' })
      row++
      column++
    } else if (
      column >= come.length ||
      (row < gone.length &&
        (lengths[(row + 1) * width + column] ?? 0) >= (lengths[row * width + column + 1] ?? 0))
    )
      pieces.push({ kind: 'removed', text: gone[row++] ?? '' })
    else pieces.push({ kind: 'added', text: come[column++] ?? '' })
  }
  return pieces
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

import { diffItems } from '@toolcrib/core/internal'

/** One line of a diff: kept, removed or added. `…` marks lines that are left out. */
export interface DiffLine {
  readonly kind: ' ' | '-' | '+' | '…'
  readonly text: string
}

/** Kept lines that are shown around a change. */
const CONTEXT = 2
/** What changed between two texts, line by line, with a few lines around each change. */
export function diffLines(before: string, after: string): DiffLine[] {
  const items = diffItems(linesOf(before), linesOf(after))
  return withoutDistant(items.map(({ kind, text }) => ({ kind: MARKS[kind], text })))
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function withoutDistant(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>()
  for (const [at, { kind }] of lines.entries())
    if (kind !== ' ') for (let other = at - CONTEXT; other <= at + CONTEXT; other++) near.add(other)
  return lines.flatMap((line, at): DiffLine[] => {
    if (near.has(at)) return [line]
    return near.has(at + 1) || (at === lines.length - 1 && near.size > 0) ? [{ kind: '…', text: '' }] : []
  })
}

import { useMemo } from 'preact/hooks'
import { diffCharacters, diffItems } from './diff-text.ts'
import { VisibleText } from './visible-text.tsx'

/** Two texts, character by character, with hidden characters made visible. */
export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const pieces = useMemo(() => diffCharacters(before, after), [before, after])
  return (
    <div class="diff">
      {pieces.map(({ kind, text }, index) => {
        const shown = <VisibleText text={text} />
        const key = `${index} ${kind}`
        if (kind === 'added') return <ins key={key}>{shown}</ins>
        if (kind === 'removed') return <del key={key}>{shown}</del>
        return <span key={key}>{shown}</span>
      })}
    </div>
  )
}

/** Lines around a change that are shown with it. */
const AROUND = 3

/** Two files, line by line. */
export function LineDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const pieces = useMemo(() => diffItems(before.split('\n'), after.split('\n')), [before, after])
  const isNear = (at: number) =>
    pieces.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same')
  return (
    <div class="diff">
      {pieces.map(({ kind, text }, index) => {
        if (kind === 'same' && !isNear(index)) return null
        const mark = kind === 'added' ? '+ ' : kind === 'removed' ? '- ' : '  '
        const key = `${index} ${kind}`
        return (
          <span key={key} class={`line-${kind}`}>
            {mark}
            <VisibleText text={text} />
          </span>
        )
      })}
    </div>
  )
}

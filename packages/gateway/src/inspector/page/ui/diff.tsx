import type { DiffLine } from '@toolcrib/mcp/clients'
import { useMemo } from 'preact/hooks'
import { diffCharacters } from './diff-text.ts'
import { VisibleText } from './visible-text.tsx'

/**
 * Two texts, character by character, with hidden characters made visible. What is new is a warning and no improvement:
 * nobody has approved it.
 */
export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const pieces = useMemo(() => diffCharacters(before, after), [before, after])
  return (
    <div class="diff words">
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

/** What the marks of a comparison mean. */
export function DiffLegend() {
  return (
    <p class="small muted row words">
      <del>removed</del> <ins>new, not approved</ins>
    </p>
  )
}

const CLASSES = { '+': 'line-added', '-': 'line-removed', ' ': 'line-same', '…': 'line-same' } as const

/** The change of a file, line by line. */
export function DiffLines({ lines }: { readonly lines: readonly DiffLine[] }) {
  if (lines.length === 0) return <p class="muted">Nothing changes.</p>
  return (
    <div class="diff">
      {lines.map(({ kind, text }, index) => {
        const key = `${index} ${kind}`
        return (
          <span key={key} class={CLASSES[kind]}>
            {kind} <VisibleText text={text} />
          </span>
        )
      })}
    </div>
  )
}

import { useEffect, useRef, useState } from 'preact/hooks'
import type { PlayLine } from '../../../api/play.ts'
import { tellLines } from '../../api-client.ts'
import { linkTo } from '../../router.ts'
import { ToolName } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Failed } from '../../ui/state.tsx'

/** A short conversation with the bundled servers, for those who have no client connected yet. */
export function Play({ isNew }: { readonly isNew: boolean }) {
  const [lines, setLines] = useState<readonly PlayLine[]>([])
  const [error, setError] = useState<string>()
  const running = useRef<AbortController>(undefined)
  const chat = useRef<HTMLOListElement>(null)
  useEffect(() => {
    chat.current?.scrollTo({ top: chat.current.scrollHeight, behavior: scrolling() })
  }, [lines])
  const end = lines.find((line) => line.kind === 'end')
  const isPlaying = lines.length > 0 && end === undefined && error === undefined
  const start = async () => {
    const stopped = new AbortController()
    running.current = stopped
    setLines([])
    chat.current?.closest('.card')?.scrollIntoView({ block: 'start', behavior: scrolling() })
    setError(undefined)
    try {
      await tellLines<PlayLine>(
        'play',
        {},
        {
          onLine: (line) => setLines((before) => [...before, line]),
          signal: stopped.signal,
        },
      )
    } catch (failure) {
      if (!stopped.signal.aborted) setError((failure as Error).message)
    }
  }
  return (
    <Card
      title={isNew ? 'See it alive' : 'A conversation to watch'}
      aside={
        <button type="button" class={`button ${isNew ? 'primary' : ''}`} disabled={isPlaying} onClick={start}>
          {isPlaying ? 'Playing …' : lines.length > 0 ? 'Play again' : 'Play'}
        </button>
      }
    >
      {lines.length === 0 && (
        <p class="muted">
          Four questions, asked of the bundled servers: a model searches, checks a tool out, calls it. The
          other views fill up meanwhile.
        </p>
      )}
      {error !== undefined && <Failed error={error} onRetry={start} />}
      {end && (
        <p class="chat-end" role="status">
          {end.text} Now look at its <a href={linkTo('sessions')}>timeline</a>, at{' '}
          <a href={linkTo('search')}>why a search found what it did</a>, and at{' '}
          <a href={linkTo('live')}>every event</a>.
        </p>
      )}
      <ol class="chat" aria-live="polite" ref={chat}>
        {lines.map(
          (line, index) =>
            line.kind !== 'end' && (
              <li key={index} class={line.kind}>
                <Line line={line} />
              </li>
            ),
        )}
      </ol>
    </Card>
  )
}

function scrolling(): ScrollBehavior {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'
}

function Line({ line }: { readonly line: PlayLine }) {
  switch (line.kind) {
    case 'search':
      return (
        <>
          searches “{line.query}” →{' '}
          {line.found.length === 0 ? (
            'nothing'
          ) : (
            <a href={linkTo('tools', line.found[0])}>
              <ToolName name={line.found[0] ?? ''} />
            </a>
          )}
        </>
      )
    case 'call':
      return (
        <>
          calls <ToolName name={line.tool} /> {line.ok ? '✓' : '✗'} <span class="muted">{line.text}</span>
        </>
      )
    default:
      return <>{line.text}</>
  }
}

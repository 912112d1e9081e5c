import { computed, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { PlayLine } from '../../api/play.ts'
import { tellLines } from '../api-client.ts'
import { linkTo } from '../router.ts'
import { ToolName } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { Failed } from '../ui/state.tsx'

/** The conversation so far; it continues while the user looks at other views. */
const lines = signal<readonly PlayLine[]>([])
const error = signal<string | undefined>(undefined)
/** Whether it has played to its end. */
export const hasPlayed = computed(() => lines.value.some(({ kind }) => kind === 'end'))
/** Whether any of it has played. */
export const hasBegun = computed(() => lines.value.length > 0)
const isPlaying = signal(false)

/** A short conversation with the user's servers, for users without a connected client. */
export function ConversationCard() {
  return (
    <Card title="A conversation to watch" aside={<PlayButton />}>
      <Conversation />
      {hasPlayed.value && (
        <p role="status">
          Now look at its <a href={linkTo('sessions')}>timeline</a>, at{' '}
          <a href={linkTo('search')}>why a search found what it did</a>, and at{' '}
          <a href={linkTo('live')}>every event</a>.
        </p>
      )}
    </Card>
  )
}

export function PlayButton({ isPrimary = false }: { readonly isPrimary?: boolean }) {
  const text = isPlaying.value ? 'Playing …' : hasBegun.value ? 'Play again' : 'Play'
  return (
    <button
      type="button"
      class={`button ${isPrimary && !hasPlayed.value ? 'primary' : ''}`}
      disabled={isPlaying.value}
      onClick={play}
    >
      {text}
    </button>
  )
}

export function Conversation() {
  const chat = useRef<HTMLOListElement>(null)
  useEffect(() => {
    chat.current?.scrollTo({ top: chat.current.scrollHeight, behavior: scrolling() })
  }, [lines.value])
  return (
    <>
      {!hasBegun.value && (
        <p class="muted">
          A few questions to your own servers, about eight seconds. They only read. The other views fill up
          meanwhile.
        </p>
      )}
      {error.value !== undefined && <Failed error={error.value} onRetry={play} />}
      <ol class="chat" aria-live="polite" aria-label="Conversation" ref={chat}>
        {lines.value.map((line, index) => (
          <li key={index} class={line.kind}>
            <Line line={line} />
          </li>
        ))}
      </ol>
    </>
  )
}

async function play(): Promise<void> {
  lines.value = []
  error.value = undefined
  isPlaying.value = true
  try {
    await tellLines<PlayLine>(
      'play',
      {},
      {
        onLine: (line) => {
          lines.value = [...lines.value, line]
        },
        signal: new AbortController().signal,
      },
    )
  } catch (failure) {
    error.value = (failure as Error).message
  } finally {
    isPlaying.value = false
  }
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

import { signal } from '@preact/signals'
import { go, place } from '../router.ts'
import { Card } from '../ui/card.tsx'
import { useApi } from '../use-api.ts'
import { Conversation, hasBegun, hasPlayed, PlayButton } from './conversation.tsx'

interface Step {
  readonly title: string
  readonly text: string
  /** The text where no conversation was played in this tab. */
  readonly textBefore?: string
  /** The view that shows the step. */
  readonly view: string
  readonly rest?: string
}

const STEPS: readonly Step[] = [
  {
    title: 'Watch a model work with your tools',
    text: 'It is shown a search tool instead of all your tools. It searches, checks out what it finds, and calls it.',
    view: '',
  },
  {
    title: 'See what each turn showed it',
    text: 'Below is that conversation: each surface with its tokens, each search, each call. Choose two turns to compare them.',
    textBefore:
      'Each conversation is listed below once it was played or a client had one: each surface with its tokens, each search, each call.',
    view: 'sessions',
  },
  {
    title: 'See why a search finds a tool',
    text: 'Type as a model would. Each match names the words that it was found by.',
    view: 'search',
  },
  {
    title: 'Fix a search that missed',
    text: 'No tool can order a pizza. Choose the tool that should have been found: your answer becomes a search hint, or a query for your tests. A search that finds nothing at all is kept under “Misses”.',
    view: 'search',
    rest: 'pizza delivery',
  },
  {
    title: 'Connect your own client',
    text: 'The page shows the change to its config before writing it, and can undo it.',
    view: 'clients',
  },
]

const KEPT = 'toolcrib-guide'
const DONE = 'done'

/** The step that is shown; undefined once the guide was dismissed. */
const step = signal(keptStep())

/** Whether the guide is open. */
export function isGuideOpen(): boolean {
  return step.value !== undefined
}

/** Opens the guide at its first step; absent while no server has tools. */
export function TourButton({ onOpen }: { readonly onOpen: () => void }) {
  const { data } = useApi('guide', {})
  if (!data?.canPlay) return null
  return (
    <button
      type="button"
      class="button"
      onClick={() => {
        onOpen()
        show(0)
      }}
    >
      Take the tour
    </button>
  )
}

/** A short tour of the views, for new users. */
export function Guide() {
  return step.value === undefined ? null : <OpenGuide at={step.value} />
}

function OpenGuide({ at }: { readonly at: number }) {
  const { data } = useApi('guide', {}, { after: ['server-synced'] })
  const current = STEPS[at]
  if (!data?.canPlay || !current) return null
  const isHere = place.value.view === current.view
  const isLast = at === STEPS.length - 1
  return (
    <div class="guide">
      <Card
        title={current.title}
        aside={
          <span class="row small muted">
            Step {at + 1} of {STEPS.length}
            <button type="button" class="button quiet" onClick={dismiss}>
              Skip the tour
            </button>
          </span>
        }
      >
        <div class="stack">
          {isHere && <p>{(!hasBegun.value && current.textBefore) || current.text}</p>}
          {at === 0 && isHere && <Conversation />}
          <div class="row">
            {!isHere && (
              <button type="button" class="button primary" onClick={() => show(at)}>
                Show me
              </button>
            )}
            {at === 0 && isHere && <PlayButton isPrimary />}
            {at > 0 && (
              <button type="button" class="button" onClick={() => show(at - 1)}>
                Back
              </button>
            )}
            <button
              type="button"
              class={`button ${isHere && (at > 0 || hasPlayed.value) ? 'primary' : ''}`}
              onClick={() => (isLast ? dismiss() : show(at + 1))}
            >
              {isLast ? 'Done' : 'Next'}
            </button>
          </div>
        </div>
      </Card>
    </div>
  )
}

function show(at: number): void {
  const next = STEPS[at]
  if (!next) return
  keep(String(at))
  step.value = at
  go(next.view, next.rest)
}

function dismiss(): void {
  keep(DONE)
  step.value = undefined
}

function keptStep(): number | undefined {
  const kept = localStorage.getItem(KEPT)
  if (kept === DONE) return undefined
  const at = Number(kept ?? 0)
  return Number.isInteger(at) && STEPS[at] ? at : 0
}

function keep(value: string): void {
  localStorage.setItem(KEPT, value)
}

import { signal } from '@preact/signals'
import { useMemo, useState } from 'preact/hooks'
import type { LiveEvent } from '../../../record/event-log.ts'
import { download } from '../../download.ts'
import { clock, whole } from '../../format.ts'
import { droppedEvents, liveEvents, liveState } from '../../live.ts'
import { linkTo } from '../../router.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Choice } from '../../ui/choice.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Empty } from '../../ui/state.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'
import { useApi } from '../../use-api.ts'
import { summaryOf } from './summary.ts'

/** On a narrow screen the details are on a separate line. */
const narrow = matchMedia('(max-width: 1000px)')
const rowHeight = signal(rowHeightNow())
narrow.addEventListener('change', () => {
  rowHeight.value = rowHeightNow()
})

/** Every event, as it happens. */
export function Live() {
  const [filter, setFilter] = useState('')
  const [type, setType] = useState('')
  const [held, setHeld] = useState<readonly LiveEvent[]>()
  const [opened, setOpened] = useState<LiveEvent>()
  const { data: sessions = [] } = useApi('sessions', {}, { after: ['session-opened'] })
  const clients = useMemo(() => new Map(sessions.map(({ id, client }) => [id, client])), [sessions])
  const all = held ?? liveEvents.value
  const types = useMemo(() => [...new Set(all.map((event) => event.type))].sort(), [all])
  const shown = useMemo(() => {
    const word = filter.trim().toLowerCase()
    return all
      .filter(
        (event) => (type === '' || event.type === type) && (word === '' || textOf(event).includes(word)),
      )
      .reverse()
  }, [all, filter, type])
  return (
    <>
      <Head
        title="Live"
        actions={
          <>
            <button
              type="button"
              class="button"
              aria-pressed={held !== undefined}
              onClick={() => setHeld(held ? undefined : liveEvents.value)}
            >
              {held ? 'Go on' : 'Pause'}
            </button>
            <button type="button" class="button" disabled={shown.length === 0} onClick={() => save(shown)}>
              Export as JSON lines
            </button>
          </>
        }
      >
        Every event of the registry, its servers and sessions. Secrets are masked before they get here.
      </Head>
      <Card>
        <div class="row filters">
          <input
            type="search"
            class="field"
            placeholder="Filter by any word"
            aria-label="Filter events"
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
          <Choice label="Type of event" all="all types" value={type} values={types} onChange={setType} />
          <span class="small muted tabular">
            {whole(shown.length)} of {whole(all.length)} events
            {droppedEvents.value > 0 && ` · ${whole(droppedEvents.value)} left out`}
          </span>
        </div>
        {shown.length === 0 ? (
          <Empty title={liveState.value === 'live' ? 'Nothing to show' : 'Not connected'}>
            {liveState.value === 'live'
              ? all.length === 0
                ? 'Events appear with the next search or call.'
                : 'No event matches; remove a word, or choose all types.'
              : 'The page tries again automatically.'}
          </Empty>
        ) : (
          <VirtualList
            items={shown}
            rowHeight={rowHeight.value}
            label="Events"
            row={(event, style) => (
              <button
                key={event.number}
                type="button"
                class="event line"
                style={style}
                onClick={() => setOpened(event)}
              >
                <span class="muted">{clock(event.at)}</span>
                <EventType event={event} />
                <span class="muted truncate">{sessionOf(event, clients)}</span>
                <span class="truncate">{lineOf(event)}</span>
              </button>
            )}
          />
        )}
      </Card>
      {opened && <WholeEvent event={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

/** The client of its session, by name if it gave one. */
function sessionOf({ session }: LiveEvent, clients: ReadonlyMap<string, string | null>) {
  if (session === undefined) return ''
  if (session === 'page') return 'this page'
  return clients.get(session) ?? <code>{session}</code>
}

/** Only trouble has a colour. */
function EventType({ event }: { readonly event: LiveEvent }) {
  const tone = toneOf(event)
  return <span>{tone === 'plain' ? event.type : <Badge tone={tone}>{event.type}</Badge>}</span>
}

/** Everything that an event says. */
function WholeEvent({ event, onClose }: { readonly event: LiveEvent; readonly onClose: () => void }) {
  const { session } = event
  return (
    <Dialog title={event.type} onClose={onClose}>
      <p class="muted">
        {clock(event.at)}
        {session !== undefined && (
          <>
            {' '}
            ·{' '}
            {session === 'page' ? (
              'by this page'
            ) : (
              <>
                in session <a href={linkTo('sessions', session)}>{session}</a>
              </>
            )}
          </>
        )}
      </p>
      <JsonTree value={event} />
    </Dialog>
  )
}

function lineOf(event: LiveEvent): string {
  return (summaryOf(event) ?? JSON.stringify(event.details)).slice(0, 300)
}

function rowHeightNow(): number {
  return narrow.matches ? 58 : 30
}

function textOf(event: LiveEvent): string {
  return JSON.stringify(event).toLowerCase()
}

function toneOf({ type, details }: LiveEvent): Tone {
  const isFault = /failed|suspicious|invalid/.test(type) || details.ok === false || details.state === 'failed'
  if (isFault) return 'bad'
  return /missed|quarantined|evicted|warning|dropped/.test(type) ? 'warn' : 'plain'
}

function save(events: readonly LiveEvent[]): void {
  download(
    'toolcrib-events.jsonl',
    `${[...events]
      .reverse()
      .map((event) => JSON.stringify(event))
      .join('\n')}\n`,
  )
}

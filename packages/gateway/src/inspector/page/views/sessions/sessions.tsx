import { about, ago, clock, plural, toolCalls } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { SessionPage } from './session-page.tsx'

const REFRESHING = [
  'session-opened',
  'surfaced',
  'searched',
  'activated',
  'evicted',
  'call-finished',
  'missed',
]

/** One line per conversation; the chosen one step by step. */
export function Sessions({ rest }: { readonly rest: string }) {
  const loaded = useApi('sessions', {}, { after: REFRESHING })
  return (
    <>
      <Head title="Sessions">
        Each conversation with its turns: what a model was shown, what it searched, checked out and called.
      </Head>
      <Show of={loaded}>
        {(sessions) => {
          const chosen = rest || sessions[0]?.id
          if (chosen === undefined) return <NoSessions />
          return (
            <div class="columns narrow-first">
              <Card label="Conversations">
                <ul>
                  {sessions.map(({ id, client, profile, topic, openedAt, lastAt, totals, isCounted }) => (
                    <li key={id}>
                      <a
                        class="session-link"
                        href={linkTo('sessions', id)}
                        aria-current={id === chosen ? 'true' : undefined}
                      >
                        <span class="row spread">
                          <span class="truncate">{client ?? <code>{id}</code>}</span>
                          <span class="small muted" title={`Last used ${ago(lastAt)}`}>
                            {startOf(openedAt)}
                          </span>
                        </span>
                        {topic !== null && <span class="topic small truncate">{topic}</span>}
                        <span class="small muted">
                          {profile !== null && `profile ${profile} · `}
                          {plural(totals.turns, 'turn')} · {plural(toolCalls(totals), 'call')} ·{' '}
                          {isCounted ? `${about(totals.saved)} saved` : 'not counted'}
                        </span>
                      </a>
                    </li>
                  ))}
                </ul>
              </Card>
              <SessionPage key={chosen} id={chosen} />
            </div>
          )
        }}
      </Show>
    </>
  )
}

/** When it began tells two sessions of one client apart: 14:03, 16 Nov 14:03 */
function startOf(at: number): string {
  const date = new Date(at)
  const time = clock(at).slice(0, 5)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? time : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}

function NoSessions() {
  const { data } = useApi('guide', {})
  return (
    <Card>
      <Empty title="No conversation yet">
        <a href={linkTo('clients')}>Connect a client</a>
        {data?.canPlay && (
          <>
            , or play the conversation on the <a href={linkTo('')}>overview</a>
          </>
        )}
        .
      </Empty>
    </Card>
  )
}

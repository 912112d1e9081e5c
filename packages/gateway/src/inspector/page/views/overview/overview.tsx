import { ConversationCard, hasBegun } from '../../guide/conversation.tsx'
import { isGuideOpen } from '../../guide/guide.tsx'
import { linkTo } from '../../router.ts'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Activity } from './activity.tsx'
import { Decisions, isUrgent } from './decisions.tsx'
import { Savings } from './savings.tsx'
import { ClientTable, ServerTable } from './tables.tsx'
import { TurnCost } from './turn-cost.tsx'

const REFRESHING = [
  'surfaced',
  'call-asked',
  'call-decided',
  'call-finished',
  'searched',
  'missed',
  'server-state',
  'server-synced',
  'tool-quarantined',
  'tool-released',
]

/** What you have, what it saves, and what needs a decision. */
export function Overview() {
  const loaded = useApi('overview', {}, { after: REFRESHING })
  return (
    <>
      <Head title="Overview">
        One look at your tools: what a turn costs, what stayed out of it, and what waits for you.
      </Head>
      <Show of={loaded}>
        {(data) => (
          <div class="stack">
            {data.decisions.some(isUrgent) && <Decisions decisions={data.decisions} />}
            {data.tools === 0 && <NoTools servers={data.servers.length} />}
            {(data.tools > 0 || data.total.turns > 0) && <Savings data={data} />}
            <div class="columns wide-first aside-first">
              <div class="stack">
                {data.tools > 0 && <TurnCost data={data} />}
                {data.canPlay && !isGuideOpen() && (data.sessions === 0 || hasBegun.value) && (
                  <ConversationCard />
                )}
                {data.tools > 0 && <Activity data={data} />}
                {data.clients.length > 0 && <ClientTable data={data} />}
              </div>
              <div class="stack">
                {!data.decisions.some(isUrgent) && (data.servers.length > 0 || data.decisions.length > 0) && (
                  <Decisions decisions={data.decisions} />
                )}
                {data.servers.length > 0 && <ServerTable data={data} />}
              </div>
            </div>
          </div>
        )}
      </Show>
    </>
  )
}

function NoTools({ servers }: { readonly servers: number }) {
  const link = (
    <a class="button primary" href={linkTo('servers')}>
      {servers === 0 ? 'Add a server' : 'Servers'}
    </a>
  )
  return (
    <Card>
      <Empty title="No tools yet" action={link}>
        {servers === 0
          ? 'They come from MCP servers. Add one, or run “toolcrib import” to take those of your editor.'
          : 'No server has listed its tools yet. They appear here automatically.'}
      </Empty>
    </Card>
  )
}

import type { Output } from '../../../api/routes.ts'
import { ConversationCard } from '../../guide/conversation.tsx'
import { isGuideOpen } from '../../guide/guide.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Activity } from './activity.tsx'
import { Decisions } from './decisions.tsx'
import { Savings } from './savings.tsx'
import { ClientTable, ServerTable } from './tables.tsx'
import { TurnCost } from './turn-cost.tsx'

export type OverviewData = Output<'overview'>

const REFRESHING = [
  'surfaced',
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
            {data.tools === 0 && <NoTools servers={data.servers.length} />}
            <Savings data={data} />
            <div class="columns wide-first aside-first">
              <div class="stack">
                <TurnCost data={data} />
                {data.canPlay && !isGuideOpen() && <ConversationCard />}
                <Activity data={data} />
                {data.clients.length > 0 && <ClientTable data={data} />}
              </div>
              <div class="stack">
                <Decisions decisions={data.decisions} />
                <ServerTable data={data} />
              </div>
            </div>
          </div>
        )}
      </Show>
    </>
  )
}

function NoTools({ servers }: { readonly servers: number }) {
  return (
    <Card>
      <Empty title="No tools yet">
        {servers === 0
          ? 'Add a server under Servers, or run “toolcrib import” to take those of your editor.'
          : 'The servers are still starting. They appear here by themselves.'}
      </Empty>
    </Card>
  )
}

import { useMemo } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { plural, whole } from '../../format.ts'
import { linkTo, note, place } from '../../router.ts'
import { Card, Head } from '../../ui/card.tsx'
import { Choice } from '../../ui/choice.tsx'
import { PutBack } from '../../ui/put-back.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { TokenShares } from '../../ui/token-shares.tsx'
import { useApi } from '../../use-api.ts'
import { ToolList } from './tool-list.tsx'
import { ToolPage } from './tool-page.tsx'

const REFRESHING = [
  'server-synced',
  'tool-registered',
  'tool-unregistered',
  'tool-quarantined',
  'tool-released',
  'call-finished',
]

/** Every tool by its cost, or the page of one tool. The filter is kept in the address. */
export function Tools({ rest }: { readonly rest: string }) {
  return rest === '' ? <ToolOverview /> : <ToolPage name={rest} />
}

function ToolOverview() {
  const loaded = useApi('tools', {}, { after: REFRESHING })
  return (
    <>
      <Head title="Tools">
        What you have, and what each tool would cost in every turn if it were always shown.
      </Head>
      <div class="stack">
        <Show of={loaded}>{(tools) => <Filtered tools={tools} />}</Show>
        <HiddenTools />
      </div>
    </>
  )
}

function HiddenTools() {
  const { data = [], reload } = useApi('hidden-tools', {}, { after: ['server-synced', 'server-state'] })
  const entries = data.map(({ server, tool }) => ({
    label: `Show ${server} · ${tool}`,
    edit: { kind: 'show', server, tool } as const,
  }))
  return <PutBack title="Hidden" entries={entries} onChanged={reload} />
}

function Filtered({ tools }: { readonly tools: readonly ListedTool[] }) {
  const { text = '', source = '', state = '' } = place.value.query
  const narrow = (change: Record<string, string>) => note('tools', '', { ...place.peek().query, ...change })
  const sources = useMemo(() => [...new Set(tools.map((tool) => tool.source))].sort(), [tools])
  const states = useMemo(() => [...new Set(tools.map((tool) => tool.state))].sort(), [tools])
  const shown = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    return tools.filter(
      (tool) =>
        (source === '' || tool.source === source) &&
        (state === '' || tool.state === state) &&
        words.every(
          (word) => tool.name.toLowerCase().includes(word) || tool.summary.toLowerCase().includes(word),
        ),
    )
  }, [tools, text, source, state])
  if (tools.length === 0)
    return (
      <Card>
        <Empty title="No tools yet" action={<ServersLink />}>
          They appear here as soon as a server has listed them.
        </Empty>
      </Card>
    )
  const tokens = shown.reduce((sum, tool) => sum + tool.tokens, 0)
  return (
    <div class="stack">
      {shown.length > 0 && (
        <Card
          title={source === '' ? 'Token cost by source' : `Token cost of ${source}`}
          aside={
            <span class="small muted">
              {plural(shown.length, 'tool')} · {whole(tokens)} tokens
            </span>
          }
        >
          <TokenShares sources={bySource(shown)} most={tokens} />
        </Card>
      )}
      <Card label="List of tools">
        <div class="row filters">
          <input
            type="search"
            class="field"
            placeholder="Filter by any word"
            aria-label="Filter tools"
            value={text}
            onInput={({ currentTarget }) => narrow({ text: currentTarget.value })}
          />
          <Choice
            label="Source"
            all="all sources"
            value={source}
            values={sources}
            onChange={(chosen) => narrow({ source: chosen })}
          />
          <Choice
            label="State"
            all="any state"
            value={state}
            values={states}
            onChange={(chosen) => narrow({ state: chosen })}
          />
        </div>
        {shown.length === 0 ? (
          <Empty
            title="No tool fits"
            action={
              <button type="button" class="button" onClick={() => note('tools', '')}>
                Show all {whole(tools.length)}
              </button>
            }
          >
            None has all of these words in its name or description.
          </Empty>
        ) : (
          <ToolList tools={shown} />
        )}
      </Card>
    </div>
  )
}

/** What the tools of each source cost, the most expensive source first. */
function bySource(tools: readonly ListedTool[]) {
  const sums = new Map<string, number>()
  for (const { source, tokens } of tools) sums.set(source, (sums.get(source) ?? 0) + tokens)
  return [...sums]
    .map(([source, tokens]) => ({ source, tokens }))
    .sort((first, second) => second.tokens - first.tokens)
}

function ServersLink() {
  return (
    <a class="button" href={linkTo('servers')}>
      Servers
    </a>
  )
}

import { useMemo, useState } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { plural, short } from '../../format.ts'
import { Card, Head } from '../../ui/card.tsx'
import { PutBack } from '../../ui/put-back.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { ToolList } from './tool-list.tsx'
import { ToolPage } from './tool-page.tsx'
import { ToolTreemap } from './tool-treemap.tsx'

const REFRESHING = [
  'server-synced',
  'tool-registered',
  'tool-unregistered',
  'tool-quarantined',
  'tool-released',
  'call-finished',
]

/** Every tool by its cost, or one of them. `source:files` narrows the list. */
export function Tools({ rest }: { readonly rest: string }) {
  const [, source] = /^source:(.*)$/s.exec(rest) ?? []
  if (rest !== '' && source === undefined) return <ToolPage name={rest} />
  return <ToolOverview key={source} source={source ?? ''} />
}

function ToolOverview({ source }: { readonly source: string }) {
  const loaded = useApi('tools', {}, { after: REFRESHING })
  return (
    <>
      <Head title="Tools">
        What you have, and what each tool would cost in every turn if it were always shown.
      </Head>
      <div class="stack">
        <Show of={loaded}>{(tools) => <Filtered tools={tools} source={source} />}</Show>
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

function Filtered({
  tools,
  source: first,
}: {
  readonly tools: readonly ListedTool[]
  readonly source: string
}) {
  const [text, setText] = useState('')
  const [source, setSource] = useState(first)
  const [state, setState] = useState('')
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
        <Empty title="No tools yet">They appear once a server has started; see Servers.</Empty>
      </Card>
    )
  const tokens = shown.reduce((sum, tool) => sum + tool.tokens, 0)
  return (
    <div class="stack">
      <Card
        title={source === '' ? 'Token cost by source' : `Token cost of ${source}`}
        aside={
          <span class="small muted">
            {plural(shown.length, 'tool')} · {short(tokens)} tokens
          </span>
        }
      >
        <ToolTreemap tools={shown} sources={sources} />
      </Card>
      <Card>
        <div class="row filters">
          <input
            type="search"
            class="field"
            placeholder="Filter by name or description"
            aria-label="Filter tools"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Choice label="Source" all="all sources" value={source} values={sources} onChange={setSource} />
          <Choice label="State" all="any state" value={state} values={states} onChange={setState} />
        </div>
        {shown.length === 0 ? (
          <Empty title="No tool fits">Remove a word or choose all sources.</Empty>
        ) : (
          <ToolList tools={shown} />
        )}
      </Card>
    </div>
  )
}

function Choice({
  label,
  all,
  value,
  values,
  onChange,
}: {
  readonly label: string
  readonly all: string
  readonly value: string
  readonly values: readonly string[]
  readonly onChange: (value: string) => void
}) {
  return (
    <select
      class="field"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      <option value="">{all}</option>
      {values.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  )
}

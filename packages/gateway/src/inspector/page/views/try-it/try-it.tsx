import { useState } from 'preact/hooks'
import { initialValue } from '../../form/field-kind.ts'
import { JsonField } from '../../form/json-field.tsx'
import { SchemaControl } from '../../form/schema-field.tsx'
import { go, linkTo } from '../../router.ts'
import { ToolName, ToolState } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Loading, Show } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ToolPicker } from '../../ui/tool-picker.tsx'
import { LongText } from '../../ui/visible-text.tsx'
import { useApi } from '../../use-api.ts'
import type { ToolData } from '../tools/tool-page.tsx'
import { CallHistory } from './call-history.tsx'
import { CallPanel } from './call-panel.tsx'
import { useCall } from './use-call.ts'

/** Calls a tool by hand, through every gate that a model's call passes. */
export function TryIt({ rest: name }: { readonly rest: string }) {
  return (
    <>
      <Head title="Try it">
        Fill in the arguments, look at a dry run, then call. Policy, quarantine and limits apply as for a
        model.
      </Head>
      <div class="stack">
        <Card>
          <ToolPicker label="The tool to try" value={name} onPick={(picked) => go('try', picked)} />
        </Card>
        {name === '' ? <Suggestions /> : <Chosen key={name} name={name} />}
      </div>
    </>
  )
}

const SUGGESTED = 6
const CALLABLE = ['visible', 'active', 'deferred']

/** Tools that were called most with success, for those who have no name in mind. */
function Suggestions() {
  const { data: tools } = useApi('tools')
  if (tools === undefined) return <Loading />
  if (tools.length === 0)
    return (
      <Card>
        <Empty title="No tools yet">They appear here as soon as a server has listed them.</Empty>
      </Card>
    )
  const frequent = tools
    .filter(({ state }) => CALLABLE.includes(state))
    .sort((first, second) => second.called - second.failed - (first.called - first.failed))
    .slice(0, SUGGESTED)
  return (
    <Card>
      <Empty title="Choose a tool">
        <p>Type part of its name, or start with one of these.</p>
        <div class="row suggested">
          {frequent.map(({ name }) => (
            <a key={name} class="button small" href={linkTo('try', name)}>
              <ToolName name={name} />
            </a>
          ))}
        </div>
      </Empty>
    </Card>
  )
}

function Chosen({ name }: { readonly name: string }) {
  const loaded = useApi('tool', { name })
  return <Show of={loaded}>{(tool) => <Trial tool={tool} />}</Show>
}

function Trial({ tool }: { readonly tool: ToolData }) {
  const [args, setArgs] = useState<unknown>(
    () => initialValue(tool.inputSchema, tool.inputSchema, true) ?? {},
  )
  const [isRaw, setRaw] = useState(false)
  const call = useCall(tool.name)
  return (
    <div class="columns">
      <Card
        title={
          <a href={linkTo('tools', tool.name)} class="wrap">
            {tool.title ?? tool.ownName}
          </a>
        }
        aside={<ToolState state={tool.explanation.state} />}
      >
        <Tabs
          names={['Form', 'JSON']}
          chosen={isRaw ? 'JSON' : 'Form'}
          label="How to write the arguments"
          onChoose={(name) => setRaw(name === 'JSON')}
        />
        <form
          class="form arguments"
          onSubmit={(event) => {
            event.preventDefault()
            call.run(args)
          }}
        >
          {isRaw ? (
            <JsonField
              id="raw"
              label="Arguments as JSON"
              value={args}
              onChange={(next) => setArgs(next ?? {})}
            />
          ) : (
            <Fields tool={tool} args={args} onChange={setArgs} />
          )}
          {!isRaw && (
            <details>
              <summary class="small muted">What is sent</summary>
              <LongText text={JSON.stringify(args, null, 2)} />
            </details>
          )}
          <div class="row">
            <button type="submit" class="button primary" disabled={call.isRunning}>
              Call
            </button>
            <button
              type="button"
              class="button"
              disabled={call.isRunning}
              onClick={() => call.run(args, { dryRun: true })}
            >
              Dry run
            </button>
            {call.isRunning && (
              <button type="button" class="button" onClick={call.cancel}>
                Cancel
              </button>
            )}
          </div>
        </form>
      </Card>
      <div class="stack">
        <CallPanel call={call} />
        <CallHistory name={tool.name} shown={call.outcome} onShow={call.show} onAgain={setArgs} />
      </div>
    </div>
  )
}

function Fields({
  tool: { inputSchema },
  args,
  onChange,
}: {
  readonly tool: ToolData
  readonly args: unknown
  readonly onChange: (args: unknown) => void
}) {
  const hasFields = typeof inputSchema === 'object' && Object.keys(Object(inputSchema.properties)).length > 0
  if (!hasFields)
    return <p class="muted">It takes no arguments, or does not say which. Use JSON to send some.</p>
  return (
    <SchemaControl
      schema={inputSchema}
      root={inputSchema}
      depth={0}
      id="arguments"
      label="arguments"
      isRequired
      value={args}
      onChange={(next) => onChange(next ?? {})}
    />
  )
}

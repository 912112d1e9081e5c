import type { Output } from '../../../api/routes.ts'
import { duration, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, ToolState } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Reasons } from '../safety/findings.tsx'
import { SchemaTable } from './schema-table.tsx'
import { ToolSettings } from './tool-settings.tsx'

export type ToolData = Output<'tool'>

/** One tool: what a model reads, why it is shown or not, and how its calls ended. */
export function ToolPage({ name }: { readonly name: string }) {
  const loaded = useApi(
    'tool',
    { name },
    { after: ['call-finished', 'tool-quarantined', 'tool-released', 'server-synced'] },
  )
  return (
    <>
      <Head
        title={<span class="wrap">{loaded.data?.title ?? loaded.data?.ownName ?? name}</span>}
        actions={
          <>
            <a class="button" href={linkTo('tools')}>
              All tools
            </a>
            {loaded.data && (
              <a class="button primary" href={linkTo('try', name)}>
                Try it
              </a>
            )}
          </>
        }
      >
        {loaded.data && <code class="wrap">{name}</code>}
      </Head>
      <Show of={loaded}>
        {(tool) => (
          <div class="columns wide-first">
            <div class="stack">
              {tool.findings.length > 0 && (
                <Card title="The scanner warns">
                  <Reasons findings={tool.findings} />
                </Card>
              )}
              <Card
                title="Description"
                aside={<span class="small muted">{whole(tool.tokens)} tokens with its arguments</span>}
              >
                <Markdown text={tool.description || 'None. A model can only guess what it does.'} />
              </Card>
              <Card title="Arguments">
                <SchemaTable schema={tool.inputSchema} />
              </Card>
              {tool.outputSchema !== null && (
                <Card title="Structured result">
                  <SchemaTable schema={tool.outputSchema} />
                </Card>
              )}
            </div>
            <div class="stack">
              <Why tool={tool} />
              <Counts tool={tool} />
              <ToolSettings tool={tool} onChanged={loaded.reload} />
            </div>
          </div>
        )}
      </Show>
    </>
  )
}

function Why({ tool: { explanation, annotations, source, kind } }: { readonly tool: ToolData }) {
  const claims = Object.entries(annotations).filter(([key, value]) => key.endsWith('Hint') && value === true)
  return (
    <Card title="State">
      <div class="stack">
        <div class="row">
          <ToolState state={explanation.state} />
          <span>{STATES[explanation.state]}</span>
        </div>
        <p class="small muted wrap">
          Why: <span>{explanation.reason}</span>
        </p>
        {explanation.state === 'quarantined' && (
          <a class="button" href={linkTo('safety')}>
            Compare and approve
          </a>
        )}
        <div class="small muted">
          From {kind === 'mcp' ? <a href={linkTo('servers', source)}>{source}</a> : source}.{' '}
          {claims.length > 0 && 'It claims to be: '}
          {claims.map(([key]) => (
            <Badge key={key}>{CLAIMS[key] ?? key}</Badge>
          ))}
        </div>
      </div>
    </Card>
  )
}

const STATES: Readonly<Record<string, string>> = {
  visible: 'Every turn shows it.',
  active: 'A session has checked it out.',
  deferred: 'Models find it by searching.',
  unavailable: 'It cannot be called now.',
  denied: 'No model sees or calls it.',
  quarantined: 'Held back until you approve it.',
}

const CLAIMS: Readonly<Record<string, string>> = {
  readOnlyHint: 'read-only',
  destructiveHint: 'destructive',
  idempotentHint: 'safe to repeat',
  openWorldHint: 'reaches outside systems',
}

function Counts({ tool: { found, called, failed, durationMs } }: { readonly tool: ToolData }) {
  return (
    <Card title="Use">
      <table>
        <tbody>
          <tr>
            <td>Found by searches</td>
            <td class="number">{whole(found)}</td>
          </tr>
          <tr>
            <td>Called</td>
            <td class="number">{whole(called)}</td>
          </tr>
          <tr>
            <td>Failed</td>
            <td class="number">{whole(failed)}</td>
          </tr>
          <tr>
            <td>Average time of a call</td>
            <td class="number">{called === 0 ? '–' : duration(durationMs / called)}</td>
          </tr>
        </tbody>
      </table>
    </Card>
  )
}

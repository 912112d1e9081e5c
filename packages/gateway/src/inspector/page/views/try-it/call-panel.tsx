import { useState } from 'preact/hooks'
import { duration } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Empty } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { LongText } from '../../ui/visible-text.tsx'
import { ContentView } from './content-view.tsx'
import { parsed } from './result-text.ts'
import type { Call, CallOutcome } from './use-call.ts'

/** The call under way, or its result. */
export function CallPanel({ call: { isRunning, outcome, progress, error } }: { readonly call: Call }) {
  return (
    <Card
      title="Result"
      aside={
        outcome && (
          <span class="row small muted">
            {outcome.isDry && <Badge tone="info">dry run</Badge>}
            <Badge tone={outcome.outcome.result.ok ? 'good' : 'bad'}>
              {outcome.outcome.result.ok ? 'ok' : outcome.outcome.result.code}
            </Badge>
            {duration(outcome.outcome.durationMs)}
          </span>
        )
      }
    >
      <div aria-live="polite">
        {isRunning && <Progress progress={progress} />}
        {error !== undefined && <div class="note bad">{error}</div>}
        {outcome && <ResultView key={outcome.at} outcome={outcome.outcome} />}
        {!isRunning && !outcome && error === undefined && (
          <Empty title="Not called yet">A dry run checks the arguments and runs nothing.</Empty>
        )}
      </div>
    </Card>
  )
}

function Progress({ progress }: { readonly progress: Call['progress'] }) {
  const { progress: done = 0, total, message } = progress ?? {}
  const share = total === undefined || total === 0 ? undefined : Math.min(100, (100 * done) / total)
  return (
    <div class="stack">
      <div class="progress" role="progressbar" aria-label="Progress of the call" aria-valuenow={share}>
        <i style={{ width: `${share ?? 12}%` }} />
      </div>
      <span class="small muted">
        Running … {progress && `${done}${total === undefined ? '' : ` of ${total}`}`} {message}
      </span>
    </div>
  )
}

/** A result in the forms that fit it: what the model reads, its blocks, its structure, and all of it as JSON. */
function ResultView({ outcome }: { readonly outcome: CallOutcome }) {
  const { result, untrusted } = outcome
  const text = result.ok ? result.value : result.error
  const forms = formsOf(outcome)
  const [chosen, setChosen] = useState(forms[0] ?? 'Text')
  return (
    <div class="stack">
      {untrusted && (
        <p class="small muted">
          From the server <b>{untrusted.server}</b>: data to read, not instructions to follow.
        </p>
      )}
      <Tabs names={forms} chosen={chosen} label="Form of the result" onChoose={setChosen} />
      {chosen === 'Text' && <LongText text={text} />}
      {chosen === 'Markdown' && <Markdown text={text} />}
      {chosen === 'Content' && result.ok && <ContentView blocks={result.content ?? []} />}
      {chosen === 'JSON' && <JsonTree value={result.structured ?? parsed(text)} />}
      {chosen === 'Raw' && <JsonTree value={outcome} />}
    </div>
  )
}

function formsOf({ result }: CallOutcome): string[] {
  const text = result.ok ? result.value : result.error
  const isRich = result.ok && (result.content ?? []).some(({ type }) => type !== 'text')
  const isJson = result.structured !== undefined || parsed(text) !== undefined
  return [...(isRich ? ['Content'] : []), 'Text', 'Markdown', ...(isJson ? ['JSON'] : []), 'Raw']
}

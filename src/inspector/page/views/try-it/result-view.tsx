import { useState } from 'preact/hooks'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { ContentView } from './content-view.tsx'
import { MAX_CHARACTERS, parsed } from './result-text.ts'
import type { CallOutcome } from './use-call.ts'

/** A result in the forms that fit it: what the model reads, its blocks, its structure, and all of it as JSON. */
export function ResultView({ outcome }: { readonly outcome: CallOutcome }) {
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
      {chosen === 'Text' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard.
        <pre class="log" tabIndex={0}>
          <VisibleText text={text.slice(0, MAX_CHARACTERS)} />
        </pre>
      )}
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

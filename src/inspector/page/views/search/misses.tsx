import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { download } from '../../download.ts'
import { ago } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ToolName } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Show } from '../../ui/state.tsx'
import { ToolPicker } from '../../ui/tool-picker.tsx'
import { useApi } from '../../use-api.ts'

/** What should have come, by the text of the miss. */
const judged = signal<ReadonlyMap<string, string>>(new Map())

/** Searches that found nothing, each with the question that makes the next one better. */
export function Misses({ onTry }: { readonly onTry: (text: string) => void }) {
  const loaded = useApi('misses', {}, { after: ['missed'] })
  return (
    <Card
      title="Misses of the last days"
      aside={
        judged.value.size > 0 && (
          <button type="button" class="button" onClick={save}>
            Download {judged.value.size} for “toolcrib eval”
          </button>
        )
      }
    >
      <Show of={loaded}>
        {(misses) =>
          misses.length === 0 ? (
            <p class="muted">
              None. A search that finds nothing appears here, with the question which tool should have come.
            </p>
          ) : (
            <ul class="list">
              {misses.map(({ text, what, times, at }) => (
                <li key={text}>
                  <div class="row spread">
                    <span>
                      <button type="button" class="link" onClick={() => onTry(text)}>
                        {text}
                      </button>{' '}
                      <span class="small muted">
                        {what === 'name' ? 'a name that does not exist' : 'no match'} ·{' '}
                        {times > 1 && `${times} times, `}
                        {ago(at)}
                      </span>
                    </span>
                    <Judge text={text} />
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </Card>
  )
}

function Judge({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false)
  const tool = judged.value.get(text)
  if (tool !== undefined)
    return (
      <span class="small">
        should find <ToolName name={tool} /> · <a href={linkTo('tools', tool)}>give it a hint</a>
      </span>
    )
  if (!isOpen)
    return (
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Which tool should have come?
      </button>
    )
  return (
    <ToolPicker
      label="The tool that should have come"
      onPick={(name) => {
        judged.value = new Map([...judged.value, [text, name]])
      }}
    />
  )
}

function save(): void {
  const lines = [...judged.value].map(([query, name], index) =>
    JSON.stringify({ id: `miss-${index + 1}`, query, relevant: [name] }),
  )
  download('queries.jsonl', `${lines.join('\n')}\n`)
}

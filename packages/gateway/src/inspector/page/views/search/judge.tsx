import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import { download } from '../../download.ts'
import { ToolName } from '../../ui/badge.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'
import { ToolPicker } from '../../ui/tool-picker.tsx'
import { useApi } from '../../use-api.ts'
import { HintForm } from '../tools/hint-form.tsx'

/** The tool that should have been found, by the text of the search. */
export const judged = signal<ReadonlyMap<string, string>>(new Map())

/** Asks which tool a search should have found; the answer becomes a search hint, or a query for `toolcrib eval`. */
export function Judge({ text, onTry }: { readonly text: string; readonly onTry?: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const tool = judged.value.get(text)
  if (tool !== undefined) return <Judged text={text} tool={tool} onTry={onTry} />
  if (!isOpen)
    return (
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Which tool should have been found?
      </button>
    )
  return (
    <div class="judge">
      <ToolPicker
        label="The tool that should have been found"
        isWaiting
        onPick={(name) => {
          judged.value = new Map([...judged.value, [text, name]])
        }}
      />
    </div>
  )
}

function Judged({
  text,
  tool: name,
  onTry,
}: {
  readonly text: string
  readonly tool: string
  readonly onTry: (() => void) | undefined
}) {
  const { data: tool } = useApi('tool', { name })
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  const [isWritten, setWritten] = useState(false)
  const forget = () => {
    judged.value = new Map([...judged.value].filter(([query]) => query !== text))
  }
  return (
    <div class="judge stack">
      <div class="row spread">
        <span>
          “{text}” should find <ToolName name={name} />
        </span>
        <span class="row">
          <button type="button" class="button" onClick={() => downloadQueries([[text, name]])}>
            Download as an eval query
          </button>
          <button type="button" class="button quiet" onClick={forget}>
            Another tool
          </button>
        </span>
      </div>
      {isWritten ? (
        <p class="row" role="status">
          The hint is in your config.
          {onTry && (
            <button type="button" class="button" onClick={onTry}>
              Search again
            </button>
          )}
        </p>
      ) : tool?.setting ? (
        <HintForm
          hint={tool.setting.hint}
          proposed={[tool.setting.hint, text].filter((part) => part !== '').join(', ')}
          onSave={(hint) => setEdit({ kind: 'hint', server: tool.source, tool: tool.ownName, hint })}
        />
      ) : (
        tool && (
          <p class="small muted">
            It does not belong to a server of your config, so you cannot add a hint here.
          </p>
        )
      )}
      {edit && (
        <ConfigChange edit={edit} onClose={() => setEdit(undefined)} onWritten={() => setWritten(true)} />
      )}
    </div>
  )
}

/** Offers searches with the tool that each should find, in the form that `toolcrib eval` reads. */
export function downloadQueries(queries: Iterable<readonly [query: string, tool: string]>): void {
  const lines = [...queries].map(([query, tool], index) =>
    JSON.stringify({ id: `miss-${index + 1}`, query, relevant: [tool] }),
  )
  download('queries.jsonl', `${lines.join('\n')}\n`)
}

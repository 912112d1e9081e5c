import { useId, useState } from 'preact/hooks'

/** A phrase that searches match too, for tools that describe themselves in other words than people do. */
export function HintForm({
  hint,
  proposed = hint,
  onSave,
}: {
  readonly hint: string
  /** What the field starts with. */
  readonly proposed?: string
  readonly onSave: (hint: string) => void
}) {
  const [text, setText] = useState(proposed)
  const id = useId()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSave(text.trim())
      }}
    >
      <label for={id}>Search hint</label>
      <div class="row">
        <input
          id={id}
          class="field hint"
          placeholder="such as: open a document"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit" class="button" disabled={text.trim() === hint}>
          Save
        </button>
      </div>
    </form>
  )
}

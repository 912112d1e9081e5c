import { useState } from 'preact/hooks'

/** A phrase that searches match too, for tools that describe themselves in other words than people do. */
export function HintForm({
  hint,
  onSave,
}: {
  readonly hint: string
  readonly onSave: (hint: string) => void
}) {
  const [text, setText] = useState(hint)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSave(text.trim())
      }}
    >
      <label for="search-hint">Search hint</label>
      <div class="row">
        <input
          id="search-hint"
          class="field hint"
          placeholder="such as: open a document, show me the text"
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

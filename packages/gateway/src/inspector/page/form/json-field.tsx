import { useState } from 'preact/hooks'
import type { FieldProps } from './field-kind.ts'

/** Any JSON, written by hand. */
export function JsonField({
  value,
  onChange,
  id,
  label,
}: Pick<FieldProps, 'value' | 'onChange' | 'id' | 'label'>) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [error, setError] = useState<string>()
  const take = (typed: string) => {
    setText(typed)
    if (typed.trim() === '') {
      setError(undefined)
      onChange(undefined)
      return
    }
    try {
      onChange(JSON.parse(typed))
      setError(undefined)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <>
      <textarea
        id={id}
        class="field code"
        aria-label={label}
        aria-invalid={error !== undefined}
        spellcheck={false}
        placeholder="JSON"
        value={text}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      {error !== undefined && <div class="help required">Not JSON yet: {error}</div>}
    </>
  )
}

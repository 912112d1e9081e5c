import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { useApi } from '../use-api.ts'

const SUGGESTIONS = 30

/** Finds one tool among many by a part of its name. */
export function ToolPicker({
  label,
  onPick,
  value = '',
}: {
  readonly label: string
  readonly onPick: (name: string) => void
  readonly value?: string
}) {
  const { data: tools = [] } = useApi('tools')
  const [text, setText] = useState(value)
  const id = useId()
  const close = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    return tools
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .slice(0, SUGGESTIONS)
  }, [tools, text])
  useEffect(() => setText(value), [value])
  const isTool = tools.some(({ name }) => name === text)
  useEffect(() => {
    if (isTool && text !== value) onPick(text)
  }, [isTool, text])
  return (
    <>
      <input
        class="field"
        list={id}
        aria-label={label}
        placeholder="A part of its name"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <datalist id={id}>
        {close.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

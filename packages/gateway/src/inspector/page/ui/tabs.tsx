/** A row of choices, one of them selected. */
export function Tabs({
  names,
  chosen,
  label,
  onChoose,
}: {
  readonly names: readonly string[]
  readonly chosen: string
  readonly label: string
  readonly onChoose: (name: string) => void
}) {
  return (
    <div class="tabs" role="toolbar" aria-label={label}>
      {names.map((name) => (
        <button key={name} type="button" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {name}
        </button>
      ))}
    </div>
  )
}

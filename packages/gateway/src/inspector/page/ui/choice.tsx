/** Chooses one of some values, or all of them. */
export function Choice({
  label,
  all,
  value,
  values,
  onChange,
}: {
  readonly label: string
  readonly all: string
  readonly value: string
  readonly values: readonly string[]
  readonly onChange: (value: string) => void
}) {
  return (
    <select
      class="field"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      <option value="">{all}</option>
      {values.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  )
}

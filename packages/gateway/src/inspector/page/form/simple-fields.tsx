import type { FieldProps } from './field-kind.ts'

/** Names of texts that are usually longer than a line. */
const LONG = /content|body|text|query|code|description|message|prompt|script/i

export function TextField({ schema, value, onChange, id, label, isRequired }: FieldProps) {
  const text = typeof value === 'string' ? value : ''
  const props = {
    id,
    class: 'field',
    'aria-label': label,
    value: text,
    placeholder: placeholderOf(schema),
    // An empty optional text is left out of the call.
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onChange(currentTarget.value === '' && !isRequired ? undefined : currentTarget.value),
  }
  const isLong = LONG.test(label) || text.includes('\n')
  return isLong ? <textarea {...props} /> : <input type="text" {...props} />
}

export function NumberField({ schema, value, onChange, id, label }: FieldProps) {
  return (
    <input
      id={id}
      type="number"
      class="field"
      aria-label={label}
      step={schema.type === 'integer' ? '1' : 'any'}
      min={typeof schema.minimum === 'number' ? schema.minimum : undefined}
      max={typeof schema.maximum === 'number' ? schema.maximum : undefined}
      placeholder={placeholderOf(schema)}
      value={typeof value === 'number' ? value : ''}
      onInput={({ currentTarget }) =>
        onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value))
      }
    />
  )
}

/** An optional value has three choices, since leaving it out differs from false. */
export function FlagField({ value, onChange, id, label, isRequired }: FieldProps) {
  return (
    <select
      id={id}
      class="field"
      aria-label={label}
      value={value === undefined ? '' : String(value)}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === '' ? undefined : currentTarget.value === 'true')
      }
    >
      {!isRequired && <option value="">left out</option>}
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  )
}

export function ChoiceField({ schema, value, onChange, id, label }: FieldProps) {
  const choices: readonly unknown[] = Array.isArray(schema.enum) ? schema.enum : []
  return (
    <select
      id={id}
      class="field"
      aria-label={label}
      value={String(choices.indexOf(value))}
      onChange={({ currentTarget }) => onChange(choices[Number(currentTarget.value)])}
    >
      <option value="-1">choose …</option>
      {choices.map((choice, index) => (
        <option key={JSON.stringify(choice)} value={String(index)}>
          {typeof choice === 'string' ? choice : JSON.stringify(choice)}
        </option>
      ))}
    </select>
  )
}

function placeholderOf({ default: standard, examples, format }: FieldProps['schema']): string {
  const example = Array.isArray(examples) ? examples[0] : undefined
  if (standard !== undefined && typeof standard !== 'object') return `default: ${String(standard)}`
  if (example !== undefined)
    return `such as ${typeof example === 'string' ? example : JSON.stringify(example)}`
  return typeof format === 'string' ? format : ''
}

import { record } from '../views/tools/schema-rows.ts'
import { initialValue } from './field-kind.ts'
import { type FieldProps, SchemaField } from './schema-field.tsx'

/** The properties of an object, required ones first. An optional object is left out until it is added. */
export function ObjectField({ schema, root, value, onChange, depth, isRequired, label }: FieldProps) {
  const properties = Object.entries(record(schema.properties))
  const needed: readonly unknown[] = Array.isArray(schema.required) ? schema.required : []
  if (value === undefined && depth > 0 && !isRequired)
    return (
      <div>
        <button
          type="button"
          class="button"
          onClick={() => onChange(initialValue(schema, root, true, depth) ?? {})}
        >
          Add {label}
        </button>
      </div>
    )
  const own = record(value)
  const sorted = [...properties].sort(
    ([first], [second]) => Number(needed.includes(second)) - Number(needed.includes(first)),
  )
  return (
    <>
      {sorted.map(([name, each]) => (
        <SchemaField
          key={name}
          name={name}
          schema={each}
          root={root}
          depth={depth + 1}
          isRequired={needed.includes(name)}
          value={Object.hasOwn(own, name) ? own[name] : undefined}
          onChange={(next) => onChange(withEntry(own, name, next))}
        />
      ))}
      {depth > 0 && !isRequired && (
        <div>
          <button type="button" class="button quiet" onClick={() => onChange(undefined)}>
            Remove {label}
          </button>
        </div>
      )}
    </>
  )
}

function withEntry(
  object: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Record<string, unknown> {
  const { [name]: _before, ...others } = object
  return value === undefined ? others : { ...object, [name]: value }
}

import { useState } from 'preact/hooks'
import { initialValue, mainType, openSchema, variantsOf } from './field-kind.ts'
import { type FieldProps, SchemaControl } from './schema-field.tsx'

/** One of several forms: first which, then its fields. */
export function VariantsField(props: FieldProps) {
  const { schema, root, value, onChange, depth, label, isRequired } = props
  const variants = variantsOf(schema)
  const [chosen, setChosen] = useState(() =>
    value === undefined && !isRequired ? -1 : firstFit(variants, root, value),
  )
  const choose = (index: number) => {
    setChosen(index)
    onChange(index < 0 ? undefined : initialValue(variants[index], root, true, depth + 1))
  }
  return (
    <>
      <div>
        <select
          class="field"
          aria-label={`Form of ${label}`}
          value={String(chosen)}
          onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
        >
          {!isRequired && <option value="-1">left out</option>}
          {variants.map((variant, index) => {
            const name = nameOf(variant, root, index)
            return (
              <option key={name} value={String(index)}>
                {name}
              </option>
            )
          })}
        </select>
      </div>
      {chosen >= 0 && (
        <SchemaControl
          {...props}
          key={chosen}
          schema={variants[chosen]}
          depth={depth + 1}
          isRequired
          label={`${label}, ${nameOf(variants[chosen], root, chosen)}`}
        />
      )}
    </>
  )
}

function nameOf(variant: unknown, root: unknown, index: number): string {
  const schema = openSchema(variant, root)
  const name = schema.title ?? mainType(schema) ?? 'value'
  return `${String(name).slice(0, 60)}${typeof schema.title === 'string' ? '' : ` (${index + 1})`}`
}

function firstFit(variants: readonly unknown[], root: unknown, value: unknown): number {
  const kind = Array.isArray(value) ? 'array' : typeof value
  const fit = variants.findIndex((variant) => mainType(openSchema(variant, root)) === kind)
  return Math.max(0, fit)
}

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { VisibleText } from '../ui/visible-text.tsx'
import { record } from '../views/tools/schema-rows.ts'
import { type FieldProps, fieldKind, initialValue, mainType, openSchema, variantsOf } from './field-kind.ts'
import { JsonField } from './json-field.tsx'
import { ChoiceField, FlagField, NumberField, TextField } from './simple-fields.tsx'

const FIELDS = {
  text: TextField,
  number: NumberField,
  flag: FlagField,
  choice: ChoiceField,
  variants: VariantsField,
  list: ListField,
  object: ObjectField,
  json: JsonField,
} as const

/** The control that fits a schema, without a label. */
export function SchemaControl({
  schema: given,
  ...props
}: Omit<FieldProps, 'schema'> & { readonly schema: unknown }) {
  const schema = openSchema(given, props.root)
  const Field = FIELDS[fieldKind(schema, props.depth)]
  return <Field {...props} schema={schema} />
}

/** A named value: its label, control and description. */
export function SchemaField({
  name,
  ...props
}: Omit<FieldProps, 'schema' | 'id' | 'label'> & { readonly name: string; readonly schema: unknown }) {
  const id = useId()
  const schema = openSchema(props.schema, props.root)
  const kind = fieldKind(schema, props.depth)
  const isGroup = kind === 'object' || kind === 'list' || kind === 'variants'
  const title = (
    <>
      <code>{name}</code>
      {props.isRequired && (
        <span class="required" title="required">
          *
        </span>
      )}
    </>
  )
  const help = typeof schema.description === 'string' ? schema.description : ''
  return (
    <Wrapper isGroup={isGroup} id={id} title={title}>
      <SchemaControl {...props} id={id} label={name} />
      {help !== '' && (
        <div class="help clamp">
          <VisibleText text={help.slice(0, 600)} />
        </div>
      )}
    </Wrapper>
  )
}

function Wrapper({
  isGroup,
  id,
  title,
  children,
}: {
  readonly isGroup: boolean
  readonly id: string
  readonly title: ComponentChildren
  readonly children: ComponentChildren
}) {
  if (isGroup)
    return (
      <fieldset>
        <legend class="label">{title}</legend>
        {children}
      </fieldset>
    )
  return (
    <div>
      <label for={id}>{title}</label>
      {children}
    </div>
  )
}

/** The items of a list, each with its own control. */
function ListField({ schema, root, value, onChange, depth, label, id }: FieldProps) {
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const replace = (at: number, next: unknown) =>
    onChange(items.map((item, index) => (index === at ? next : item)))
  const remove = (at: number) => {
    const rest = items.filter((_, index) => index !== at)
    onChange(rest.length > 0 ? rest : undefined)
  }
  const add = () =>
    onChange([...items, initialValue(schema.items, root, true, depth + 1) ?? emptyItem(schema.items)])
  return (
    <>
      {items.map((item, index) => {
        const key = `${id}-${index}`
        return (
          <div class="item" key={key}>
            <div class="form">
              <SchemaControl
                schema={schema.items}
                root={root}
                depth={depth + 1}
                id={key}
                label={`${label} ${index + 1}`}
                isRequired
                value={item}
                onChange={(next) => replace(index, next)}
              />
            </div>
            <button
              type="button"
              class="button quiet"
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => remove(index)}
            >
              <Icon name="close" />
            </button>
          </div>
        )
      })}
      <div>
        <button type="button" class="button" onClick={add}>
          Add to {label}
        </button>
      </div>
    </>
  )
}

/** An item without a known type starts as an empty text. */
function emptyItem(schema: unknown): unknown {
  return typeof schema === 'object' && schema !== null && Reflect.get(schema, 'type') === 'number' ? 0 : ''
}

/** The properties of an object, required ones first. An optional object is left out until it is added. */
function ObjectField({ schema, root, value, onChange, depth, isRequired, label }: FieldProps) {
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

/** One of several forms: first which, then its fields. */
function VariantsField(props: FieldProps) {
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

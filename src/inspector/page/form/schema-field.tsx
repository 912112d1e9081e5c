import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { VisibleText } from '../ui/visible-text.tsx'
import { fieldKind, openSchema, type Schema } from './field-kind.ts'
import { JsonField } from './json-field.tsx'
import { ListField } from './list-field.tsx'
import { ObjectField } from './object-field.tsx'
import { ChoiceField, FlagField, NumberField, TextField } from './simple-fields.tsx'
import { VariantsField } from './variants-field.tsx'

/** One value of a form. Undefined means that it is left out. */
export interface FieldProps {
  readonly schema: Schema
  /** The whole schema, for references. */
  readonly root: unknown
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly depth: number
  readonly id: string
  readonly isRequired: boolean
  /** The accessible name of the field if no label is beside it. */
  readonly label: string
}

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

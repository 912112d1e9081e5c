import { Icon } from '../ui/icon.tsx'
import { initialValue } from './field-kind.ts'
import { type FieldProps, SchemaControl } from './schema-field.tsx'

/** The items of a list, each with its own control. */
export function ListField({ schema, root, value, onChange, depth, label, id }: FieldProps) {
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

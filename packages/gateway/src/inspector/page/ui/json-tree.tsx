import { VisibleText } from './visible-text.tsx'

const MAX_ENTRIES = 200
const MAX_TEXT = 5_000

/** JSON as a tree that opens level by level; the first levels are open. */
export function JsonTree({
  value,
  name,
  depth = 0,
}: {
  readonly value: unknown
  readonly name?: string
  readonly depth?: number
}) {
  const label =
    name === undefined ? null : (
      <span class="key">
        <VisibleText text={name} />:{' '}
      </span>
    )
  if (typeof value !== 'object' || value === null)
    return (
      <div class={depth === 0 ? 'json-tree' : ''}>
        {label}
        <Leaf value={value} />
      </div>
    )
  const entries = Object.entries(value)
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
  if (entries.length === 0)
    return (
      <div class={depth === 0 ? 'json-tree' : ''}>
        {label}
        {Array.isArray(value) ? '[]' : '{}'}
      </div>
    )
  return (
    <details class={depth === 0 ? 'json-tree' : ''} open={depth < 2 && entries.length <= 40}>
      <summary>
        {label}
        <span class="muted">{size}</span>
      </summary>
      <ul>
        {entries.slice(0, MAX_ENTRIES).map(([key, each]) => (
          <li key={key}>
            <JsonTree value={each} name={key} depth={depth + 1} />
          </li>
        ))}
        {entries.length > MAX_ENTRIES && <li class="muted">… and {entries.length - MAX_ENTRIES} more</li>}
      </ul>
    </details>
  )
}

function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value !== 'string') return <span class="other">{String(value)}</span>
  const isLong = value.length > MAX_TEXT
  return (
    <span class="text">
      "<VisibleText text={value.slice(0, MAX_TEXT)} />"
      {isLong && <span class="muted"> … {value.length} characters</span>}
    </span>
  )
}

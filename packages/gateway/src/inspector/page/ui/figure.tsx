/** A figure, and what it counts. */
export function Figure({
  value,
  name,
  note,
  href,
  isSmall = false,
  isBad = false,
}: {
  readonly value: string
  readonly name: string
  /** A line below, such as what it costs. */
  readonly note?: string
  readonly href?: string
  readonly isSmall?: boolean
  readonly isBad?: boolean
}) {
  return (
    <div>
      <div class={`figure ${isSmall ? 'small-figure' : ''} ${isBad ? 'danger' : ''}`}>{value}</div>
      <div class={isSmall ? 'small muted' : ''}>{href === undefined ? name : <a href={href}>{name}</a>}</div>
      {note !== undefined && <div class="small muted">{note}</div>}
    </div>
  )
}

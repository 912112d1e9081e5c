import type { ComponentChildren } from 'preact'

/** A panel with a title, and sometimes something beside it. */
export function Card({
  title,
  aside,
  children,
  label,
  isWide = false,
}: {
  readonly title?: ComponentChildren
  readonly aside?: ComponentChildren
  readonly label?: string
  /** Takes all columns of the grid around it. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <section class={`card ${isWide ? 'wide' : ''}`} aria-label={label}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  )
}

/** The head of a view. */
export function Head({
  title,
  children,
  actions,
}: {
  readonly title: ComponentChildren
  readonly children?: ComponentChildren
  readonly actions?: ComponentChildren
}) {
  return (
    <div class="head">
      <div class="row spread">
        <h1>{title}</h1>
        {actions && <div class="row">{actions}</div>}
      </div>
      {children && <p>{children}</p>}
    </div>
  )
}

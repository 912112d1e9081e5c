import type { ComponentChildren } from 'preact'
import { sentence } from '../format.ts'
import type { Loaded } from '../use-api.ts'

/** Shows an answer once it has arrived; until then a placeholder, or why it failed and what to do. */
export function Show<Data>({
  of: { data, error, reload },
  children,
}: {
  readonly of: Loaded<Data>
  readonly children: (data: Data) => ComponentChildren
}) {
  if (data !== undefined) return <>{children(data)}</>
  if (error !== undefined) return <Failed error={error} onRetry={reload} />
  return <Loading />
}

export function Loading() {
  return (
    <div class="card stack" role="status" aria-label="Loading">
      <div class="pulse" />
      <div class="pulse" />
      <div class="pulse" />
    </div>
  )
}

export function Failed({ error, onRetry }: { readonly error: string; readonly onRetry?: () => void }) {
  return (
    <div class="note bad row spread" role="alert">
      <span class="wrap">{sentence(error)}</span>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Nothing to show, and what would change that. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string
  readonly children?: ComponentChildren
  readonly action?: ComponentChildren
}) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <div>{children}</div>
      {action && <div class="row empty-action">{action}</div>}
    </div>
  )
}

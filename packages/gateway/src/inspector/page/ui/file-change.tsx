import type { DiffLine } from '@toolcrib/mcp/clients'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { DiffLines } from './diff.tsx'
import { Failed, Loading } from './state.tsx'

/** A planned change of a file. */
interface FileDraft {
  readonly path: string
  readonly diff: readonly DiffLine[]
  /** Identifies this change: a file that has changed since is not written. */
  readonly digest: string
}

/** Shows a change of a file, and makes it when confirmed. */
export function FileChange<Draft extends FileDraft>({
  title,
  action,
  draft: work,
  apply,
  onClose,
  onDone,
  children,
}: {
  readonly title: string
  /** The text of the button. */
  readonly action: string
  readonly draft: () => Promise<Draft>
  readonly apply: (digest: string) => Promise<unknown>
  readonly onClose: () => void
  readonly onDone: () => void
  /** What the change does, in words. */
  readonly children?: (draft: Draft) => ComponentChildren
}) {
  const [draft, setDraft] = useState<Draft>()
  const [error, setError] = useState<string>()
  const fail = (failure: Error) => setError(failure.message)
  useEffect(() => {
    work().then(setDraft, fail)
  }, [])
  const write = (digest: string) =>
    apply(digest).then(() => {
      onClose()
      onDone()
    }, fail)
  return (
    <Dialog title={title} onClose={onClose}>
      {error !== undefined && <Failed error={error} />}
      {!draft && error === undefined && <Loading />}
      {draft && (
        <>
          <p class="muted wrap">
            <code>{draft.path}</code>
          </p>
          {children?.(draft)}
          <DiffLines lines={draft.diff} />
          <div class="row">
            <button type="button" class="button primary" onClick={() => write(draft.digest)}>
              {action}
            </button>
            <button type="button" class="button" onClick={onClose}>
              Leave it
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}

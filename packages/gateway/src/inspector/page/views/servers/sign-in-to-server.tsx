import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Consent } from '../../../api/sign-in.ts'
import { tell } from '../../api-client.ts'
import { VisibleText } from '../../ui/visible-text.tsx'

/** Signs in to a server in two steps: opens its consent page, then waits for the redirect. */
export function SignInToServer({
  server,
  reason,
  consent,
  onChanged,
}: {
  readonly server: string
  /** Why the user is not signed in: there was no attempt, or the last one failed. */
  readonly reason: string
  /** A sign-in that waits for consent. */
  readonly consent: Consent | null
  readonly onChanged: () => void
}) {
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState('')
  const attempt = async (work: () => Promise<unknown>) => {
    setError('')
    setAsking(true)
    await work().catch((failure: Error) => setError(failure.message))
    setAsking(false)
    onChanged()
  }
  const start = () => attempt(() => tell('sign-in', { server }))
  const cancel = () => attempt(() => tell('cancel-sign-in', { server }))
  return (
    <div class="note stack sign-in">
      {consent ? (
        <Steps consent={consent} onFinish={(address) => attempt(() => tell('finish-sign-in', { address }))}>
          <button type="button" class="button" onClick={cancel}>
            Cancel
          </button>
        </Steps>
      ) : (
        <div class="row spread">
          <span class="wrap">
            {isAsking ? 'Asking the server for the address …' : <VisibleText text={reason} />}
          </span>
          <button type="button" class="button primary" disabled={isAsking} onClick={start}>
            Sign in to {server}
          </button>
        </div>
      )}
      {error !== '' && (
        <p class="danger wrap" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

function Steps({
  consent: { url, host },
  onFinish,
  children,
}: {
  readonly consent: Consent
  readonly onFinish: (address: string) => void
  readonly children: ComponentChildren
}) {
  return (
    <>
      <p>
        Consent at <b class="wrap">{host}</b>, in a new tab. This card changes as soon as you are back.
      </p>
      <div class="row">
        <a class="button primary" href={url} target="_blank" rel="noopener noreferrer">
          Continue at {host}
        </a>
        {children}
      </div>
      <details>
        <summary class="small muted">The tab ends in an error?</summary>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            onFinish(String(new FormData(event.currentTarget).get('address')))
          }}
        >
          <input
            class="field grow"
            name="address"
            aria-label="Address of that tab"
            placeholder="Paste the address of that tab"
            required
          />
          <button type="submit" class="button">
            Finish
          </button>
        </form>
      </details>
    </>
  )
}

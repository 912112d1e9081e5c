import { useState } from 'preact/hooks'
import { problemOf, refusal, refusedToken, signIn } from './signed-in.ts'
import { Card, Head } from './ui/card.tsx'
import { Failed } from './ui/state.tsx'

const OPEN_ADDRESS =
  'The gateway printed an address with the operator’s token when it started. Open that address, or paste the token here.'

/** Why the user has to sign in, and how. */
const REASONS = {
  new: OPEN_ADDRESS,
  ended: `You are no longer signed in: you signed out, the browser was closed, or the token has changed. ${OPEN_ADDRESS}`,
  issuer: `This gateway accepts clients of an OAuth issuer. Paste the operator’s token, or an access token with the scope that [gateway.oauth] names as operator_scope. ${OPEN_ADDRESS}`,
  'no-cookie':
    'The gateway accepted the token, but the browser did not send back the cookie that keeps you signed in. Allow cookies for this address, then sign in again.',
}

/** Asks for the token when nobody is signed in. */
export function SignIn() {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const shown = problem ?? refusedToken.value
  const send = async () => {
    try {
      await signIn(token.trim())
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      <Head title="Sign in">{REASONS[refusal.value ?? 'new']}</Head>
      <Card>
        <div class="stack">
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault()
              void send()
            }}
          >
            <input
              class="field hint"
              type="password"
              aria-label="Token"
              autocomplete="off"
              value={token}
              onInput={({ currentTarget }) => setToken(currentTarget.value)}
            />
            <button type="submit" class="button primary" disabled={token.trim() === ''}>
              Sign in
            </button>
          </form>
          {shown !== undefined && <Failed error={shown} />}
          <p class="muted small">
            You stay signed in, in every tab, until you sign out, close the browser, or the token changes.
          </p>
        </div>
      </Card>
    </>
  )
}

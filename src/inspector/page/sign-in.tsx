import { useState } from 'preact/hooks'
import { keepToken } from './api-client.ts'
import { Card, Head } from './ui/card.tsx'

/** Asks for the token when the address had none. */
export function SignIn() {
  const [token, setToken] = useState('')
  return (
    <>
      <Head title="A token is needed">
        The gateway printed an address with the token when it started. Open that address, or paste the token
        here. It stays in this tab.
      </Head>
      <Card>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            keepToken(token.trim())
          }}
        >
          <input
            class="field"
            type="password"
            aria-label="Token"
            autocomplete="off"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <button type="submit" class="button primary" disabled={token.trim() === ''}>
            Open
          </button>
        </form>
      </Card>
    </>
  )
}

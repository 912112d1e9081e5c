import { computed, signal } from '@preact/signals'
import { ApiError, request } from './request.ts'
import { decode } from './router.ts'

/**
 * Why the gateway refuses the requests of this page: it never signed in, its sign-in has ended, the gateway requires
 * tokens of an OAuth issuer, or the browser did not keep the cookie. Undefined while requests are accepted.
 */
export const refusal = signal<'new' | 'ended' | 'issuer' | 'no-cookie' | undefined>(undefined)
/** What was wrong with the token of the address. */
export const refusedToken = signal<string | undefined>(undefined)
export const needsToken = computed(() => refusal.value !== undefined)
/** Whether there is something to sign out of: a gateway without tokens accepts everybody. */
export const isSignedIn = signal(false)

/** The encrypted token; its key is in the cookie. Unlike a cookie, storage is separate for each port. */
const KEPT = 'toolcrib-sign-in'
/** Resolves when the sign-in that is in progress ends. */
let signingIn: Promise<void> = Promise.resolve()
/** Whether a request has succeeded since the last sign-in. */
let isProven = true

/** Removes the token from the address, so that it is neither seen nor kept in the history, and signs in with it. */
export function startSignIn(): void {
  isSignedIn.value = localStorage.getItem(KEPT) !== null
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEPT) followOtherTab(newValue)
  })
  const given = /(?:^#|&)token=([^&]+)/.exec(location.hash)?.[1]
  if (given === undefined) return
  history.replaceState(null, '', `${location.pathname}#/`)
  // Replacing an address fires no event.
  dispatchEvent(new Event('hashchange'))
  signingIn = signIn(decode(given)).catch((error: unknown) => {
    refusedToken.value = problemOf(error)
  })
}

/** Why a token was refused, and what to do. */
export function problemOf(error: unknown): string {
  const isWrong = error instanceof ApiError && error.status === 401
  return isWrong
    ? 'The gateway refused the token. Check that it is whole, and of this gateway.'
    : String(Object(error).message)
}

/** Exchanges a token for a sign-in that all tabs share. Rejects with an `ApiError` when the gateway refuses it. */
export async function signIn(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await request('page-sign-in', { method: 'POST', headers, body: '{}' })
  const { sealed } = await response.json()
  localStorage.setItem(KEPT, sealed)
  isProven = false
  letIn()
}

/** Signs out in all tabs, and clears what they show. */
export async function signOut(): Promise<void> {
  // A gateway that is gone, or has ended the sign-in, has nothing to forget.
  await sendSignedIn('page-sign-out', { method: 'POST', body: '{}' }).catch(() => {})
  localStorage.removeItem(KEPT)
  location.reload()
}

/** Sends a request with the current sign-in. Rejects with an `ApiError` that says what to do. */
export async function sendSignedIn(path: string, init: RequestInit = {}): Promise<Response> {
  await signingIn
  const headers = new Headers(init.headers)
  const sealed = localStorage.getItem(KEPT)
  if (sealed !== null) headers.set('authorization', `Sealed ${sealed}`)
  try {
    const response = await request(path, { ...init, headers })
    isProven = true
    return response
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) refusal.value = reasonOf(error, sealed)
    throw error
  }
}

function reasonOf({ challenge }: ApiError, sealed: string | null) {
  if (!isProven) return 'no-cookie'
  if (sealed !== null) return 'ended'
  return challenge.includes('resource_metadata') ? 'issuer' : 'new'
}

function letIn(): void {
  isSignedIn.value = true
  refusedToken.value = undefined
  refusal.value = undefined
}

/** Handles a sign-in or sign-out in another tab. */
function followOtherTab(sealed: string | null): void {
  if (sealed === null) location.reload()
  else letIn()
}

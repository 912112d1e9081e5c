import type { Inspection } from '../inspection.ts'
import type { SignIns } from '../sign-ins.ts'
import { invalid, text, writing } from './route.ts'

/** Where the user consents. The address is untrusted, so the page shows its host first. */
export interface Consent {
  readonly url: string
  readonly host: string
}

/** Restarts a server to sign in to it; returns where the user consents, or null if it needs no sign-in. */
export const signIn = writing({ server: text }, async ({ signIns, config, servers }, { server }) => {
  if (!config)
    throw invalid('this gateway was opened without a config file, so no server can be restarted here')
  const waiting = needed(signIns)
  let consent: Promise<URL> | undefined
  // After it has stopped: an earlier attempt could take this sign-in, and end it.
  await config.restart(server, () => {
    consent = waiting.begin(server)
  })
  try {
    // It may need no sign-in, or fail before it asks for consent.
    const connected = servers.client(server).then(() => null)
    return await Promise.race([connected, ...(consent ? [consent.then(toConsent)] : [])])
  } catch (error) {
    waiting.cancel(server, 'the server failed before it asked for consent')
    throw invalid(error instanceof Error ? error.message : String(error))
  }
})

/** For a browser that cannot reach the gateway: accepts the redirect address as text. */
export const finishSignIn = writing({ address: text }, ({ signIns }, { address }) => {
  const isOurs = URL.canParse(address) && needed(signIns).finish(new URL(address).searchParams)
  if (!isOurs) throw invalid('no sign-in waits for this address; paste all of it, with code and state')
  return {}
})

export const cancelSignIn = writing({ server: text }, ({ signIns }, { server }) => {
  signIns?.cancel(server, 'the sign-in was cancelled on the page')
  return {}
})

/** The pending sign-in. */
export function consentOf({ signIns }: Inspection, server: string): Consent | null {
  const url = signIns?.waiting(server)
  return url === undefined ? null : toConsent(url)
}

function toConsent({ href, host }: URL): Consent {
  return { url: href, host }
}

function needed(signIns: SignIns | undefined): SignIns {
  if (signIns) return signIns
  throw invalid('this gateway was opened without sign-ins; set an Authorization header in the config')
}

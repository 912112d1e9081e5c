import type { Gateway } from 'toolcrib/gateway'
import { createInspector, type Inspector, type SignIns } from 'toolcrib/inspector'
import type { OpenedRegistry } from 'toolcrib/mcp'
import type { Store } from 'toolcrib/stores'
import type { AccessToken } from '../access-token.ts'
import { clientPlace, stdioDoor } from '../client-place.ts'
import type { ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import { findOptionsOf } from '../with-registry.ts'
import type { GatewayAccess } from './gateway-access.ts'
import { PageAccess } from './page-access.ts'

/**
 * The page of a gateway: it shows what the gateway serves, and requires the same tokens. If the user's own token is
 * bound to a profile, another token opens the page, and nothing else.
 */
export function servePage(
  terminal: Terminal,
  flags: ServerFlags & { readonly profile?: string },
  {
    opened,
    gateway,
    access: { token, pageToken },
    signIns,
    store,
  }: {
    opened: OpenedRegistry
    gateway: Gateway
    access: Pick<GatewayAccess, 'token' | 'pageToken'>
    signIns: SignIns
    store: Store | undefined
  },
): Inspector {
  const config = opened.config.files.at(-1)
  return createInspector({
    registry: opened.registry,
    servers: opened.servers,
    access: pageToken && pageToken !== token ? new PageAccess(pageToken, gateway.access) : gateway.access,
    store,
    config: { opened, find: findOptionsOf(terminal, flags) },
    gateway,
    signIns,
    ...(config === undefined
      ? {}
      : { connect: { ...clientPlace(terminal), door: stdioDoor(terminal, config, flags.profile) } }),
  })
}

/** The token is in the fragment, which browsers do not send; the page reads it from there. */
export function pageUrl(origin: string, token: AccessToken | undefined): string {
  return token === undefined ? `${origin}/` : `${origin}/#token=${token.token}`
}

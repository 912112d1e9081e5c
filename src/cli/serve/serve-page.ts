import type { Gateway } from 'toolcrib/gateway'
import { createInspector, type Inspector, type SignIns } from 'toolcrib/inspector'
import type { OpenedRegistry } from 'toolcrib/mcp'
import type { Store } from 'toolcrib/stores'
import type { AccessToken } from '../access-token.ts'
import { clientPlace, stdioDoor } from '../client-place.ts'
import type { ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import { findOptionsOf } from '../with-registry.ts'

/** The page beside a gateway: it shows what the gateway serves, and asks for the same token. */
export function servePage(
  terminal: Terminal,
  flags: ServerFlags & { readonly profile?: string },
  {
    opened,
    gateway,
    signIns,
    store,
  }: { opened: OpenedRegistry; gateway: Gateway; signIns: SignIns; store: Store | undefined },
): Inspector {
  const config = opened.config.files.at(-1)
  return createInspector({
    registry: opened.registry,
    servers: opened.servers,
    access: gateway.access,
    store,
    config: { opened, find: findOptionsOf(terminal, flags) },
    gateway,
    signIns,
    ...(config === undefined
      ? {}
      : { connect: { ...clientPlace(terminal), door: stdioDoor(terminal, config, flags.profile) } }),
  })
}

/** The token is in the fragment, which browsers do not send: the page takes it from there. */
export function pageUrl(origin: string, token: AccessToken | undefined): string {
  return token === undefined ? `${origin}/` : `${origin}/#token=${token.token}`
}

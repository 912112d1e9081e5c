import type { Gateway } from '@toolcrib/gateway'
import { createInspector, type Inspector, type SignIns } from '@toolcrib/gateway/inspector'
import type { OpenedRegistry } from '@toolcrib/mcp'
import type { Store } from '@toolcrib/mcp/stores'
import { clientPlace, stdioGateway } from '../clients/client-place.ts'
import type { AccessToken } from '../config/access-token.ts'
import { findOptionsOf } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { shellWord } from '../terminal/text.ts'

export interface PageParts {
  readonly opened: OpenedRegistry
  readonly gateway: Gateway
  readonly signIns: SignIns
  readonly store: Store | undefined
}

/** The page of a gateway: it shows what the gateway serves, and requires an operator's token. */
export function servePage(
  terminal: Terminal,
  flags: ServerFlags & { readonly profile?: string },
  { opened, gateway, signIns, store }: PageParts,
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
      : {
          connect: {
            ...clientPlace(terminal),
            door: stdioGateway(terminal, config, flags.profile),
            program: typedProgram(terminal),
          },
        }),
  })
}

/** What a person types in any folder: the name of a script that Node runs may be relative to this one. */
function typedProgram({ program: { name, args } }: Terminal): string {
  const [script] = args
  return name.startsWith('node ') && script !== undefined ? `node ${shellWord(script)}` : name
}

/** The token is in the fragment, which browsers do not send; the page reads it from there. */
export function pageUrl(origin: string, token: AccessToken | undefined): string {
  return token === undefined ? `${origin}/` : `${origin}/#token=${token.token}`
}

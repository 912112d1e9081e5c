import { version } from '../../package.json'
import type { Era } from './client-line.ts'
import type { GatewayCore } from './core.ts'
import type { ServerDescription } from './mcp-server.ts'
import type { View } from './view.ts'

/** How the gateway presents itself when a client connects. */
export function serverDescription(core: GatewayCore, view: View, era: Era): ServerDescription {
  return {
    era,
    info: core.options.serverInfo ?? { name: 'toolcrib', version },
    capabilities: core.capabilities(view),
    instructions: undefined,
  }
}

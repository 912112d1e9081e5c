/**
 * `toolcrib/gateway`: one MCP endpoint in front of all servers of a registry. For Node and other hosts with
 * `node:crypto`.
 */

export type { Access, AccessHeaders } from './access.ts'
export type { ConnectedClient } from './connected-clients.ts'
export {
  createGateway,
  GATEWAY_CAPABILITIES,
  type Gateway,
  type GatewayStatus,
  type ReloadOptions,
} from './gateway.ts'
export type {
  GatewayLimits,
  GatewayLogger,
  GatewayOAuth,
  GatewayOptions,
  GatewayToken,
  NameStyle,
} from './gateway-options.ts'
export type { Principal, Refusal } from './principal.ts'
export type { MetricValues } from './prometheus.ts'
export type { StdioDoor, StdioOptions } from './stdio-door.ts'

/** `toolcrib/gateway`: one MCP endpoint before all servers of a registry. For Node and other hosts with `node:crypto`. */

export { createGateway, GATEWAY_CAPABILITIES, type Gateway, type GatewayStatus } from './gateway.ts'
export type { GatewayLimits, GatewayOptions, GatewayToken, NameStyle } from './gateway-options.ts'
export type { StdioDoor, StdioOptions } from './stdio-door.ts'

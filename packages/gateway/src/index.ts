/**
 * `toolcrib/gateway`: one MCP endpoint in front of all servers of a registry. For Node and other hosts with
 * `node:crypto`.
 */

export type { Access, AccessHeaders } from './access/access.ts'
export type { Principal, Refusal } from './access/principal.ts'
export type {
  ApprovalBook,
  ApprovalGrant,
  ApprovalSubject,
  GrantKind,
  PendingApproval,
} from './approvals/approval-book.ts'
export type { GatewayApprovals } from './approvals/approvals.ts'
export type { AuditEntry, AuditOptions } from './audit/audit-log.ts'
export type { AuditedCall, Auditor, Caller, Decision } from './audit/audited-call.ts'
export { type AuditCheck, type AuditFault, readAudit, verifyAudit } from './audit/read-audit.ts'
export { definitionHash } from './definition-hash.ts'
export {
  createGateway,
  GATEWAY_CAPABILITIES,
  type Gateway,
  type GatewayStatus,
  type ReloadOptions,
} from './gateway.ts'
export type {
  AllowedTools,
  GatewayLimits,
  GatewayLogger,
  GatewayOAuth,
  GatewayOptions,
  GatewayToken,
  NameStyle,
} from './gateway-options.ts'
export type { MetricValues } from './metrics/prometheus.ts'
export type { StdioOptions, StdioTransport } from './sdk/stdio-transport.ts'
export type { ConnectedClient } from './sessions/connected-clients.ts'

import { isRecord } from '@toolcrib/core/internal'
import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[gateway]`: who may use the gateway of `toolcrib serve`, and how much of it. */
export interface GatewayConfig {
  /** `[gateway.oauth]`: accepts tokens of this issuer. */
  readonly oauth?: GatewayOAuthConfig
  /** `[gateway.token.NAME]`: clients with their own tokens. */
  readonly tokens?: Readonly<Record<string, GatewayTokenConfig>>
  /** `[gateway.limits]`. */
  readonly limits?: GatewayLimitsConfig
  /** The host names that clients use, besides the gateway's own: those of a service or a proxy. */
  readonly hosts?: readonly string[]
  /** A shell command that is run for each call that waits for approval, with the call as JSON on its standard input. */
  readonly onAsk?: string
  /** The most tokens of text in a result; longer ones are shortened, and kept for `read_result`. Default: 0, no limit. */
  readonly maxResultTokens?: number
  /** Whether calls are recorded, and what of them. Default: `off`. */
  readonly audit?: AuditMode
}

const AUDIT_MODES = ['off', 'on', 'arguments', 'required', 'required-arguments'] as const

/**
 * on: a line for each call, with a digest of its arguments; arguments: with the arguments too, secrets masked. required:
 * a call that cannot be recorded is refused.
 */
export type AuditMode = (typeof AUDIT_MODES)[number]

/** The issuer whose tokens are accepted, and what their scopes open. */
export interface GatewayOAuthConfig {
  /** The URL of `/mcp` as clients reach it. */
  readonly resource: string
  /** The URL of the identity provider, as in the tokens. */
  readonly issuer: string
  /** The audience of tokens. Default: `resource`. */
  readonly audience?: string
  /** The address of the issuer's keys. Default: found in the issuer's metadata. */
  readonly jwksUri?: string
  /** The scope that opens the page, its API and `/metrics`. Default: none does. */
  readonly operatorScope?: string
  /** The profile that each scope opens; `*` opens every profile, and `/mcp` itself. */
  readonly scopes: Readonly<Record<string, string>>
  /** Why no client can use it: a variable has no value. Its texts are then as written. */
  readonly problem?: string
}

/** A token of one client, and the only profile it opens; without one, it opens any. Or a token of an operator. */
export interface GatewayTokenConfig {
  /** What the client sends as `Authorization: Bearer …`; write it as a variable. */
  readonly token: string
  /** The only profile that it opens. Default: any. */
  readonly profile?: string
  /** true: it opens the page, its API and `/metrics`, and not `/mcp`. */
  readonly operator?: boolean
  /** Why it opens nothing: a variable has no value. `token` is then empty, which no gateway accepts. */
  readonly problem?: string
}

/** `[gateway.limits]`: the limits of the gateway, named as in its options. */
export type GatewayLimitsConfig = { readonly [Key in keyof typeof LIMIT_FIELDS]?: number }

const GATEWAY_FIELDS = {
  hosts: 'texts',
  oauth: 'table',
  /** `[gateway.token.NAME]`: clients with their own tokens. */
  token: 'table',
  limits: 'table',
  onAsk: 'text',
  maxResultTokens: 'count',
  /** `on` records calls; `arguments` with their arguments; `required` refuses calls that cannot be recorded. Default: `off`. */
  audit: { oneOf: AUDIT_MODES },
} as const satisfies Fields

/** `readGateway()` itself produces them. */
const ALSO_READ = { tokens: 'table' } as const satisfies Fields
const ALSO_READ_WITHIN = { problem: 'text' } as const satisfies Fields

const OAUTH_FIELDS = {
  resource: 'text',
  issuer: 'text',
  audience: 'text',
  jwksUri: 'text',
  operatorScope: 'text',
  scopes: 'map',
} as const satisfies Fields

const TOKEN_FIELDS = { token: 'text', profile: 'text', operator: 'flag' } as const satisfies Fields

const PLAIN_FIELDS = {
  onAsk: GATEWAY_FIELDS.onAsk,
  audit: GATEWAY_FIELDS.audit,
  maxResultTokens: GATEWAY_FIELDS.maxResultTokens,
} as const satisfies Fields
const HOST_FIELDS = { hosts: GATEWAY_FIELDS.hosts } as const satisfies Fields

const LIMIT_FIELDS = {
  maxBodyBytes: 'count',
  maxBodyKeys: 'count',
  bodyTimeoutMs: 'milliseconds',
  maxRequests: 'count',
  maxSessions: 'count',
  sessionIdleMs: 'milliseconds',
  maxCallsPerClient: 'count',
  callsPerMinute: 'count',
  maxCallsPerServer: 'count',
  maxQueuedPerServer: 'count',
  maxConnectionsPerServer: 'count',
  maxParked: 'count',
  askTimeoutMs: 'milliseconds',
  askWaitMs: 'milliseconds',
  listWaitMs: 'milliseconds',
} as const satisfies Fields

/**
 * Reads the table `[gateway]`, with its variables expanded. `placeOf` returns where a nested table is. Throws
 * `config-invalid` for unknown and missing keys. A variable without a value is a `problem` of its token or issuer,
 * which matters only to a gateway; in the limits and hosts it throws too.
 */
export function readGateway(
  table: unknown,
  placeOf: (keys: readonly string[]) => Place,
  variables: Variables,
): GatewayConfig {
  const place = { ...placeOf(['gateway']), alsoRead: ALSO_READ }
  const read = readTable(table, GATEWAY_FIELDS, place)
  const { oauth, token = {}, tokens = {}, limits } = read
  const at = (...keys: string[]) => ({ place: placeOf(['gateway', ...keys]), variables })
  const written = [...Object.entries(token as object), ...Object.entries(tokens as object)]
  const clients = new Map<string, GatewayTokenConfig>()
  for (const [name, client] of written) {
    if (clients.has(name))
      throw invalid(placeOf(['gateway', 'tokens', name]), [], 'is also in [gateway.token]')
    clients.set(name, readToken(client, at('token', name)))
  }
  return {
    ...(oauth === undefined
      ? {}
      : { oauth: readFilled<GatewayOAuthConfig>(oauth, OAUTH_FIELDS, at('oauth')) }),
    ...(clients.size === 0 ? {} : { tokens: Object.fromEntries(clients) }),
    ...(limits === undefined ? {} : { limits: readScalars(limits, LIMIT_FIELDS, at('limits')) }),
    ...(read.hosts === undefined ? {} : { hosts: readHosts(read.hosts, at()) }),
    ...readScalars(pick(read, Object.keys(PLAIN_FIELDS)), PLAIN_FIELDS, at()),
  }
}

function readHosts(value: unknown, source: Source): readonly string[] {
  const { hosts = [] } = readScalars({ hosts: value }, HOST_FIELDS, source) as Pick<GatewayConfig, 'hosts'>
  const wrong = hosts.find((host) => !/^(?:\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)$/i.test(host))
  if (wrong === undefined) return hosts
  const form = 'write it without scheme, port and path, such as "tools.example.com" or "[::1]"'
  throw invalid(source.place, ['hosts'], `"${wrong}" is not a bare host name; ${form}`)
}

function pick(read: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(read).filter(([key]) => keys.includes(key)))
}

/**
 * Merges the tables of several files: the later file takes precedence, for `tokens` and `limits` entry by entry. A
 * record of calls that one file wants cannot be reduced by another: a project must not override its user's decision.
 */
export function overlayGateway(below: GatewayConfig, above: GatewayConfig): GatewayConfig {
  const { tokens, limits } = above
  const audit = strictest(below.audit, above.audit)
  return {
    ...below,
    ...above,
    ...(tokens && { tokens: { ...below.tokens, ...tokens } }),
    ...(limits && { limits: { ...below.limits, ...limits } }),
    ...(audit && { audit }),
  }
}

function strictest(...modes: readonly (AuditMode | undefined)[]): AuditMode | undefined {
  const isSet = (part: string) => modes.some((mode) => mode?.includes(part))
  if (isSet('required')) return isSet('arguments') ? 'required-arguments' : 'required'
  return isSet('arguments') ? 'arguments' : isSet('on') ? 'on' : modes.find((mode) => mode !== undefined)
}

/** The required keys of all these tables. */
const NEEDED = ['token', 'resource', 'issuer', 'scopes']

/** Where a table is, and what its variables are. */
interface Source {
  readonly place: Place
  readonly variables: Variables
}

function readToken(value: unknown, source: Source): GatewayTokenConfig {
  // As it was read before.
  const { token, ...rest }: Record<string, unknown> = isRecord(value) ? value : {}
  const isReadBefore = token === '' && rest.problem !== undefined
  const read = readFilled<GatewayTokenConfig>(isReadBefore ? rest : value, TOKEN_FIELDS, source)
  return read.problem === undefined ? read : { ...read, token: '' }
}

function readScalars(value: unknown, fields: Fields, { place, variables }: Source): Record<string, unknown> {
  const { values, faults } = fillTable(readTable(value, fields, place), fields, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}

function readFilled<Table>(value: unknown, fields: Fields, { place, variables }: Source): Table {
  const read = readTable(value, fields, { ...place, alsoRead: ALSO_READ_WITHIN })
  if (read.problem !== undefined) return read as Table
  const { values, faults } = fillTable(read, fields, place, variables)
  if (faults.length > 0) values.problem = invalid(place, [], faults.join('; ')).message
  const missing = NEEDED.find((key) => key in fields && values[key] === undefined)
  if (missing !== undefined && values.problem === undefined) {
    if (read[missing] === undefined) throw invalid(place, [], `"${missing}" is missing`)
    values.problem = invalid(place, [], `the variable of "${missing}" is empty; set it`).message
  }
  return values as Table
}

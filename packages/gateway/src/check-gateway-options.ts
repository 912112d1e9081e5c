import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  checkOptions,
  milliseconds,
  type OptionRules,
  objectWith,
  oneOf,
  optionsWith,
  required,
  textList,
  wholeNumber,
} from '@toolcrib/core/internal'
import type { Profile } from '@toolcrib/mcp'
import type { AuditOptions } from './audit/audit-log.ts'
import type {
  GatewayLimits,
  GatewayLogger,
  GatewayOAuth,
  GatewayOptions,
  GatewayToken,
} from './gateway-options.ts'

const LIMIT_RULES: OptionRules<GatewayLimits> = {
  maxBodyBytes: wholeNumber(),
  maxBodyKeys: wholeNumber(),
  bodyTimeoutMs: milliseconds(),
  maxRequests: wholeNumber(),
  maxSessions: wholeNumber(),
  sessionIdleMs: milliseconds(),
  maxCallsPerClient: wholeNumber(),
  callsPerMinute: wholeNumber(),
  maxCallsPerServer: wholeNumber(),
  maxQueuedPerServer: wholeNumber(),
  maxConnectionsPerServer: wholeNumber(),
  maxParked: wholeNumber(),
  askTimeoutMs: milliseconds(),
  askWaitMs: milliseconds(),
  maxResultTokens: wholeNumber(),
  listWaitMs: milliseconds(),
  drainMs: milliseconds(),
}

const OAUTH_RULES: OptionRules<GatewayOAuth> = {
  resource: required(anyText),
  issuer: required(anyText),
  audience: anyText,
  jwksUri: anyText,
  operatorScope: anyText,
  scopes: required(anyObject),
}

const TOKEN_RULES: OptionRules<GatewayToken> = {
  token: required(anyText),
  profile: anyText,
  name: anyText,
  operator: oneOf(true, false),
}

const INFO_RULES: OptionRules<NonNullable<GatewayOptions['serverInfo']>> = {
  name: required(anyText),
  version: required(anyText),
}

const PROFILE_RULES: OptionRules<Profile> = {
  servers: textList,
  allow: textList,
  deny: textList,
  ask: textList,
  pinned: textList,
  mode: oneOf('full', 'lazy', 'auto'),
  maxResultTokens: wholeNumber(),
  activate: oneOf('doors', 'list'),
}

const AUDIT_RULES: OptionRules<AuditOptions> = {
  directory: required(anyText),
  arguments: oneOf(true, false),
  required: oneOf(true, false),
  maxFileBytes: wholeNumber({ from: 1 }),
}

const RULES: OptionRules<GatewayOptions> = {
  registry: required(objectWith('openSession', 'subscribe', 'explain')),
  servers: objectWith('request', 'status', 'attach'),
  store: objectWith('get', 'set', 'update', 'delete'),
  announcements: objectWith('publish', 'subscribe', 'close'),
  onReload: anyFunction,
  tokens: anyList,
  oauth: optionsWith(OAUTH_RULES),
  profiles: anyObject,
  mode: oneOf('full', 'lazy', 'auto'),
  names: oneOf('prefixed', 'plain'),
  hosts: textList,
  origins: textList,
  limits: optionsWith(LIMIT_RULES),
  askingServers: textList,
  serverInfo: optionsWith(INFO_RULES),
  onPending: anyFunction,
  alwaysAllowed: objectWith('list', 'set'),
  audit: optionsWith(AUDIT_RULES),
  onWarning: anyFunction,
  instructions: anyText,
  logger: objectWith(...(['info', 'warn'] satisfies (keyof GatewayLogger)[])),
  now: anyFunction,
  schedule: anyFunction,
  newId: anyFunction,
}

/** The shortest token that is accepted: shorter ones can be guessed. */
const MIN_TOKEN_CHARACTERS = 16

/** Throws `config-invalid` for an unknown option, and for values that would let anybody in. */
export function checkGatewayOptions(options: GatewayOptions): void {
  checkOptions<GatewayOptions>('a gateway', options, RULES)
  const { tokens = [], oauth, profiles = {}, hosts = [] } = options
  for (const host of hosts) checkHost(host)
  for (const [name, profile] of Object.entries(profiles))
    checkOptions<Profile>(`the profile "${name}"`, profile, PROFILE_RULES)
  for (const token of tokens) checkToken(token, options)
  if (oauth) checkOAuth(oauth, options)
  if (new Set(tokens.map(({ token }) => token)).size < tokens.length)
    throw invalid('two entries of tokens have the same token')
}

/** A host with a scheme or a port would match no request, because only names are compared. */
function checkHost(host: string): void {
  if (!/^(?:\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)$/i.test(host))
    throw invalid(
      `hosts: "${host}" is not a bare host name; write it without scheme, port and path, such as "tools.example.com" or "[::1]"`,
    )
}

function checkToken(given: GatewayToken, { profiles = {} }: GatewayOptions): void {
  checkOptions<GatewayToken>('an entry of tokens', given, TOKEN_RULES)
  const { token, profile, operator } = given
  if (operator && profile !== undefined)
    throw invalid('the token of an operator is not bound to a profile: the page shows all of them')
  if (token.length < MIN_TOKEN_CHARACTERS)
    throw invalid(`a token must have at least ${MIN_TOKEN_CHARACTERS} characters`)
  if (profile !== undefined && !Object.hasOwn(profiles, profile))
    throw invalid(`a token is bound to the profile "${profile}", which does not exist`)
}

function checkOAuth(oauth: GatewayOAuth, { tokens = [], profiles = {} }: GatewayOptions): void {
  if (tokens.some(({ operator }) => !operator))
    throw invalid(
      'give either tokens of clients or oauth: clients that find an issuer ignore a token of their config',
    )
  for (const field of ['resource', 'issuer', 'jwksUri'] as const) {
    const url = oauth[field]
    if (url === undefined && field === 'jwksUri') continue
    if (!isSafeUrl(url))
      throw invalid(`oauth.${field} must be an https URL; http is for loopback addresses only`)
  }
  if (oauth.audience === '') throw invalid('oauth.audience must not be empty')
  const scopes = Object.entries(oauth.scopes)
  if (scopes.length === 0)
    throw invalid('oauth.scopes must name at least one scope and the profile that it opens')
  for (const [scope, profile] of scopes) {
    // RFC 6749: the characters of a scope. It is quoted in a header.
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw invalid(`oauth.scopes: "${scope}" is not a scope`)
    if (profile !== null && !Object.hasOwn(profiles, profile))
      throw invalid(`oauth.scopes opens the profile "${profile}", which does not exist`)
  }
}

function isSafeUrl(text: string | undefined): boolean {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:') return true
  return url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

import { ToolcribError } from '@toolcrib/core'
import type { GatewayToken, ReloadOptions } from '@toolcrib/gateway'
import type { FoundConfig, GatewayConfig } from '@toolcrib/mcp'
import { type AccessToken, chooseToken, operatorToken, type TokenFlags } from '../config/access-token.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { reachableHosts } from './serve-settings.ts'

/** How long calls in flight may take after a signal to stop. */
export const DRAIN_MS = 10_000

export interface AccessFlags extends TokenFlags {
  readonly profile?: string
}

/**
 * Who may use a gateway, from the flags and the `[gateway]` table of the config: the token of the command line, clients
 * with their own tokens, or the users of an OAuth issuer.
 */
export class GatewayAccess {
  /** The user's own token; undefined with `--no-token` and with an OAuth issuer. */
  readonly token: AccessToken | undefined
  /** The token of the page, its API and `/metrics`; undefined with `--no-token`. */
  readonly operator: AccessToken | undefined
  /** The profile that the user's own token is bound to. */
  readonly profile: string | undefined
  /** The OAuth issuer. */
  readonly issuer: string | undefined
  readonly #flags: AccessFlags
  readonly #config: FoundConfig['config']
  readonly #isStdio: boolean

  private constructor(
    { token, operator }: Pick<GatewayAccess, 'token' | 'operator'>,
    flags: AccessFlags,
    { config, isStdio = false }: Pick<FoundConfig, 'config'> & { readonly isStdio?: boolean },
  ) {
    this.token = token
    this.operator = operator
    this.profile = flags.profile
    this.issuer = config.gateway?.oauth?.issuer
    this.#flags = flags
    this.#config = config
    this.#isStdio = isStdio
  }

  /** Throws `config-invalid` for flags that contradict the config, and what `chooseToken()` throws. */
  static async choose(flags: AccessFlags, found: FoundConfig, terminal: Terminal): Promise<GatewayAccess> {
    const { oauth, tokens } = found.config.gateway ?? {}
    const { problem } = [oauth, ...Object.values(tokens ?? {})].find((each) => each?.problem) ?? {}
    if (problem !== undefined) throw invalid(problem)
    if (!oauth) {
      if (tokens && flags.token === false)
        throw invalid('the config has tokens of clients, [gateway.token]; leave out --no-token')
      const token = await chooseToken(flags, terminal)
      return new GatewayAccess({ token, operator: await operatorToken(flags, terminal) }, flags, found)
    }
    if (Object.values(tokens ?? {}).some(({ operator }) => !operator))
      throw invalid(
        "the config has both [gateway.oauth] and a [gateway.token] that is not an operator's; leave out one of them",
      )
    if (flags.token !== undefined || flags.tokenFile !== undefined)
      throw invalid(
        'the config names an OAuth issuer, [gateway.oauth]; leave out --token, --token-file and --no-token',
      )
    if (flags.profile !== undefined)
      throw invalid('with [gateway.oauth], scopes decide about profiles; leave out --profile')
    const operator = await operatorToken(flags, terminal)
    return new GatewayAccess({ token: undefined, operator }, flags, found)
  }

  /** Without tokens: for a client that starts the gateway itself. */
  static ofStdio(flags: AccessFlags, found: FoundConfig): GatewayAccess {
    const { oauth, tokens, ...gateway } = found.config.gateway ?? {}
    const none = { token: undefined, operator: undefined }
    return new GatewayAccess(none, flags, { config: { ...found.config, gateway }, isStdio: true })
  }

  /**
   * The options of a config that was read again, with the current token of the token file. Throws `config-invalid` as
   * `choose()` does. Adding or removing the OAuth issuer needs a restart.
   */
  async reread({ config }: FoundConfig, terminal: Terminal): Promise<ReloadOptions> {
    const { oauth, tokens = {}, ...gateway } = config.gateway ?? {}
    if (this.#isStdio) return this.#optionsOf({ ...config, gateway }, undefined)
    if (this.issuer !== undefined) {
      if (oauth?.problem !== undefined) throw invalid(oauth.problem)
      const issuer = oauth ?? this.#config.gateway?.oauth
      const operators = Object.fromEntries(Object.entries(tokens).filter(([, each]) => each.operator))
      const kept = { ...gateway, tokens: operators, ...(issuer && { oauth: issuer }) }
      return this.#optionsOf({ ...config, gateway: kept }, undefined)
    }
    const { problem } = Object.values(tokens).find((each) => each.problem) ?? {}
    if (problem !== undefined) throw invalid(problem)
    // A token that is not in a file cannot have changed.
    const own = this.token?.file === undefined ? this.token : await chooseToken(this.#flags, terminal)
    return this.#optionsOf({ ...config, gateway: { ...gateway, tokens } }, own)
  }

  /** As options of `createGateway()`. */
  options(): ReloadOptions {
    return this.#optionsOf(this.#config, this.token)
  }

  #optionsOf(
    {
      profiles,
      gateway: { oauth, tokens = {}, limits, hosts = [], maxResultTokens } = {},
    }: FoundConfig['config'],
    own: AccessToken | undefined,
  ): ReloadOptions {
    return {
      tokens: this.#withOwn(own, tokens),
      profiles,
      hosts: this.#hosts(oauth?.resource, hosts),
      limits: { ...limits, maxResultTokens, drainMs: DRAIN_MS },
      ...(oauth && { oauth: { ...oauth, scopes: profilesOf(oauth.scopes) } }),
    }
  }

  #withOwn(
    own: AccessToken | undefined,
    others: NonNullable<GatewayConfig['tokens']>,
  ): readonly GatewayToken[] {
    const named = Object.entries(others).map(([name, each]) => ({ name, ...each }))
    const operator = this.operator && { token: this.operator.token, name: 'operator', operator: true }
    return [
      ...(own ? [{ token: own.token, profile: this.profile }] : []),
      ...named,
      ...(operator ? [operator] : []),
    ]
  }

  /** A proxy in front of the gateway passes on the host name that clients use. */
  #hosts(resource: string | undefined, others: readonly string[]): readonly string[] {
    const named = resource === undefined || !URL.canParse(resource) ? [] : [new URL(resource).hostname]
    return [...reachableHosts(this.#flags.host), ...named, ...others]
  }
}

/** What each scope opens: `*` is every profile. */
function profilesOf(scopes: Readonly<Record<string, string>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(scopes).map(([scope, profile]) => [scope, profile === '*' ? null : profile]),
  )
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

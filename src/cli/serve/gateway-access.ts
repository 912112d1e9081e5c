import { ToolcribError } from 'toolcrib'
import type { GatewayOptions } from 'toolcrib/gateway'
import type { FoundConfig } from 'toolcrib/mcp'
import { type AccessToken, chooseToken, type TokenFlags } from '../access-token.ts'
import type { Terminal } from '../terminal.ts'
import { reachableHosts } from './serve-settings.ts'

export interface AccessFlags extends TokenFlags {
  readonly profile?: string
}

/**
 * Who may use a gateway, from the flags and the `[gateway]` table of the config: the token of the command line, clients with
 * tokens of their own, or the users of an OAuth issuer.
 */
export class GatewayAccess {
  /** The user's own token; undefined with `--no-token` and with an OAuth issuer. */
  readonly token: AccessToken | undefined
  /** The OAuth issuer. */
  readonly issuer: string | undefined
  readonly #flags: AccessFlags
  readonly #config: FoundConfig['config']

  private constructor(token: AccessToken | undefined, flags: AccessFlags, { config }: FoundConfig) {
    this.token = token
    this.issuer = config.gateway?.oauth?.issuer
    this.#flags = flags
    this.#config = config
  }

  /** Throws `config-invalid` for flags that contradict the config, besides what `chooseToken()` refuses. */
  static async choose(flags: AccessFlags, found: FoundConfig, terminal: Terminal): Promise<GatewayAccess> {
    const { oauth, tokens } = found.config.gateway ?? {}
    const { problem } = [oauth, ...Object.values(tokens ?? {})].find((each) => each?.problem) ?? {}
    if (problem !== undefined) throw invalid(problem)
    if (!oauth) {
      if (tokens && flags.token === false)
        throw invalid('the config has tokens of clients, [gateway.token]; leave out --no-token')
      return new GatewayAccess(await chooseToken(flags, terminal), flags, found)
    }
    if (tokens)
      throw invalid('the config has both [gateway.oauth] and [gateway.token]; leave out one of them')
    if (flags.token !== undefined || flags.tokenFile !== undefined)
      throw invalid(
        'the config names an OAuth issuer, [gateway.oauth]; leave out --token, --token-file and --no-token',
      )
    if (flags.profile !== undefined)
      throw invalid('with [gateway.oauth], scopes decide about profiles; leave out --profile')
    return new GatewayAccess(undefined, flags, found)
  }

  /** Without tokens: for a client that starts the gateway itself. */
  static ofStdio(flags: AccessFlags, found: FoundConfig): GatewayAccess {
    const { oauth, tokens, ...gateway } = found.config.gateway ?? {}
    return new GatewayAccess(undefined, flags, { ...found, config: { ...found.config, gateway } })
  }

  /** As options of `createGateway()`. */
  options(): Pick<GatewayOptions, 'tokens' | 'oauth' | 'profiles' | 'hosts' | 'limits'> {
    const { profiles, gateway: { oauth, tokens = {}, limits, hosts = [] } = {} } = this.#config
    const own = this.token && { token: this.token.token, profile: this.#flags.profile }
    const others = Object.entries(tokens).map(([name, each]) => ({ name, ...each }))
    return {
      tokens: [...(own ? [own] : []), ...others],
      profiles,
      hosts: this.#hosts(oauth?.resource, hosts),
      ...(limits && { limits }),
      ...(oauth && { oauth: { ...oauth, scopes: profilesOf(oauth.scopes) } }),
    }
  }

  /** A proxy before the gateway passes on the host name of the URL that clients use. */
  #hosts(resource: string | undefined, others: readonly string[]): readonly string[] | undefined {
    const hosts = reachableHosts(this.#flags.host)
    const named = resource === undefined || !URL.canParse(resource) ? [] : [new URL(resource).hostname]
    if (named.length + others.length === 0) return hosts
    return [...(hosts ?? ['localhost', '127.0.0.1', '[::1]']), ...named, ...others]
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

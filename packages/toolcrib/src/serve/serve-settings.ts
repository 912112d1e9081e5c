import { networkInterfaces, hostname as ownName } from 'node:os'
import { ToolcribError } from '@toolcrib/core'
import type { FoundConfig } from '@toolcrib/mcp'
import { isLoopback, type TokenFlags } from '../config/access-token.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import { Interrupted } from '../terminal/interrupt.ts'
import type { Terminal } from '../terminal/terminal.ts'

export interface ServeFlags extends ServerFlags, TokenFlags {
  readonly stdio?: boolean
  readonly background?: boolean
  readonly port: number
  readonly mode?: 'full' | 'lazy' | 'auto'
  readonly names?: 'prefixed' | 'plain'
  readonly profile?: string
  readonly store?: string
  readonly linger?: number
  /** End once no client has been connected for so many seconds; and at once if another gateway serves this config. */
  readonly idle?: number
  readonly locked?: boolean
  readonly strict?: boolean
  readonly open?: boolean
  /** Print only where the page is. */
  readonly brief?: boolean
}

/** Throws `config-invalid` when the profile does not exist. */
export function requireProfiles(profile: string | undefined, { config }: FoundConfig): void {
  const names = Object.keys(config.profiles ?? {})
  if (profile !== undefined && !names.includes(profile)) {
    const known = names.length > 0 ? `the config has ${names.join(', ')}` : 'the config has none'
    throw new ToolcribError('config-invalid', `there is no profile "${profile}"; ${known}`)
  }
}

/** Warnings about settings of `[tools]` that have no effect in a gateway, whose clients have their own limits. */
export function warningsOf({ tools }: FoundConfig['config']): readonly string[] {
  const unused = Object.entries(UNUSED).filter(([setting]) => Object.hasOwn(tools, setting))
  return unused.map(([, [key, why]]) => `${key} of [tools] has no effect in "toolcrib serve": ${why}`)
}

const UNUSED = {
  resultBudgetChars: [
    'result_budget_chars',
    'max_result_tokens of [gateway], a profile or a server is the limit',
  ],
  maxIdenticalCalls: ['max_identical_calls', 'clients may repeat calls'],
  strategy: ['strategy', 'set "activate" of a profile instead'],
} as const

/** A gateway without a terminal, and without a client that started it, reads its config again instead. */
export function endsOnHangUp(
  { isInteractive }: Pick<Terminal, 'isInteractive'>,
  { stdio }: { readonly stdio?: boolean },
): boolean {
  return stdio === true || isInteractive
}

/** How long a gateway keeps serving after a signal to stop. */
export class Linger {
  readonly #seconds: number | undefined
  readonly #isInteractive: boolean

  constructor({ linger }: { readonly linger?: number }, { isInteractive }: Pick<Terminal, 'isInteractive'>) {
    this.#seconds = linger
    this.#isInteractive = isInteractive
  }

  get longestMs(): number {
    return (this.#seconds ?? LINGER_S) * 1_000
  }

  /** By default a few seconds for one of several replicas, and 0 for a single gateway or after Ctrl-C. */
  msFor(reason: unknown, { hasReplicas }: { readonly hasReplicas: boolean }): number {
    if (this.#isInteractive && reason instanceof Interrupted && reason.signal === 'SIGINT') return 0
    return this.#seconds === undefined && !hasReplicas ? 0 : this.longestMs
  }
}

/** By then, a proxy that checks `/readyz` each second has noticed. */
const LINGER_S = 3

/** The names that clients use to reach a gateway that listens at this address. */
export function reachableHosts(host: string): readonly string[] {
  if (isLoopback(host)) return LOOPBACK
  const isEvery = isEveryAddress(host)
  const addresses = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
  return [...LOOPBACK, ownName(), ...(isEvery ? addresses : [nameOf(host)])]
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** An address as in a Host header: IPv6 in brackets, without a zone. */
function nameOf(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host.replace(/%.*/, '')}]` : host
}

/** The address of a gateway for other machines, and for this one. */
interface ShownOrigins {
  readonly elsewhere: string
  readonly here: string
}

/** The origins to show for a listener's origin: nobody can connect to the wildcard address. */
export function shownOrigins(
  origin: string,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): ShownOrigins {
  const { hostname, port } = new URL(origin)
  if (!isEveryAddress(hostname)) return { elsewhere: origin, here: origin }
  const outward = Object.values(interfaces)
    .flatMap((each) => each ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  const at = (host: string) => `http://${host}${port === '' ? '' : `:${port}`}`
  return {
    elsewhere: at(outward?.address ?? ownName()),
    here: at(hostname === '0.0.0.0' ? '127.0.0.1' : '[::1]'),
  }
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '[::]'
}

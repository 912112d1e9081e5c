import type { GatewayLogger, GatewayOptions } from './gateway-options.ts'

/** Tokens and passwords as they appear in the messages of others. */
const SECRETS =
  /\b(Bearer|Basic)\s+\S+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|\b((?:access_|refresh_|api_?)?(?:token|key|secret|password))(["']?\s*[=:]\s*["']?)[^\s"'&,;]+/gi

/** What happens at a gateway, for the host's logger. Arguments, results and headers are never in it. */
export class GatewayLog {
  readonly #logger: GatewayLogger | undefined
  readonly #onWarning: GatewayOptions['onWarning']

  constructor({ logger, onWarning }: Pick<GatewayOptions, 'logger' | 'onWarning'>) {
    this.#logger = logger
    this.#onWarning = onWarning
  }

  /** True when nobody reads what is logged. */
  get isSilent(): boolean {
    return this.#logger === undefined
  }

  /** Notes a request. Nothing of it is a client's own words, so that nothing is masked. */
  request(fields: Readonly<Record<string, string | number>>): void {
    this.#try(() => this.#logger?.info(fields, 'request'))
  }

  info(message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#try(() => this.#logger?.info(masked(fields), message))
  }

  warn(message: string): void {
    this.#try(() => this.#onWarning?.(maskSecrets(message)))
    this.#try(() => this.#logger?.warn({}, maskSecrets(message)))
  }

  /** A logger that fails must not break the work it reports on. */
  #try(write: () => void): void {
    try {
      write()
    } catch {}
  }
}

function masked(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? maskSecrets(value) : value]),
  )
}

export function maskSecrets(text: string): string {
  return text.replace(SECRETS, (_, scheme?: string, name?: string, between = '') => {
    if (scheme !== undefined) return `${scheme} ***`
    return name === undefined ? '***' : `${name}${between}***`
  })
}

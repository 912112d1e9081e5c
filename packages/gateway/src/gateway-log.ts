import type { GatewayLogger, GatewayOptions } from './gateway-options.ts'

/** Tokens and passwords as they appear in messages. */
const SECRETS =
  /\b(Bearer|Basic)\s+\S+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|\b((?:access_|refresh_|api_?)?(?:token|key|secret|password))(["']?\s*[=:]\s*["']?)[^\s"'&,;]+/gi

/** Writes the gateway's events to the host's logger. Arguments, results and headers are never logged. */
export class GatewayLog {
  readonly #logger: GatewayLogger | undefined
  readonly #onWarning: GatewayOptions['onWarning']

  constructor({ logger, onWarning }: Pick<GatewayOptions, 'logger' | 'onWarning'>) {
    this.#logger = logger
    this.#onWarning = onWarning
  }

  /** True if there is no logger. */
  get isSilent(): boolean {
    return this.#logger === undefined
  }

  /** Logs a request. The fields contain no text of the client, so nothing is masked. */
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

  /** A failing logger must not break the work it reports on. */
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

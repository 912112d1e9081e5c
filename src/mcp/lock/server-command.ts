import { createHash } from 'node:crypto'
import { asWritten, type ServerConfig } from '../config/server-config.ts'

/** What decides which program or address a server is. Values of variables and headers are left out: they are secrets. */
export interface ServerCommand {
  readonly transport: 'stdio' | 'http' | 'sse'
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
  /** Names only, sorted. */
  readonly env?: readonly string[]
  /** Names only, sorted. */
  readonly headers?: readonly string[]
}

/**
 * A server's command as an approval covers it: as it was written, so that a lockfile means the same on another
 * machine. What looks like a secret all the same is replaced by a digest; it may still not change unnoticed.
 */
export function commandOf(config: ServerConfig): ServerCommand {
  const { type, command, args, cwd, url, env, headers } = asWritten(config)
  const transport = type ?? (command === undefined ? 'http' : 'stdio')
  if (transport !== 'stdio')
    return { transport, ...(url === undefined ? {} : { url: maskUrl(url) }), ...namesOf('headers', headers) }
  return {
    transport,
    ...(command === undefined ? {} : { command }),
    ...(args === undefined || args.length === 0 ? {} : { args: maskArguments(args) }),
    ...(cwd === undefined ? {} : { cwd }),
    ...namesOf('env', env),
  }
}

function namesOf(field: 'env' | 'headers', values: Readonly<Record<string, string>> | undefined) {
  const names = Object.keys(values ?? {}).sort()
  return names.length === 0 ? {} : { [field]: names }
}

const SECRET_NAME = /(^|[-_.])(token|secret|password|passwd|pwd|(api|access|auth|private)[-_]?key|apikey)$/i
const SECRET_VALUE =
  /^(gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|xox[abprs]-|AKIA|AIza|npm_|eyJ[\w-]+\.)[\w.-]{12,}$/

function maskArguments(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const [, flag = '', value] = /^(-[^=]*)=(.*)$/s.exec(arg) ?? []
    if (value !== undefined) return isSecret(flag, value) ? `${flag}=${mask(value)}` : arg
    const before = args[index - 1] ?? ''
    const name = before.startsWith('-') && !arg.startsWith('-') ? before : ''
    return isSecret(name, arg) ? mask(arg) : maskUrl(arg)
  })
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_VALUE.test(value)
}

/** An address without its password and without secrets among its parameters; other texts as they are. */
function maskUrl(text: string): string {
  return text
    .replace(/^([a-z][\w+.-]*:\/\/[^/?#@\s:]*:)([^/?#@\s]+)(?=@)/i, (_, start: string, password: string) =>
      isReference(password) ? `${start}${password}` : `${start}${mask(password)}`,
    )
    .replace(/([?&])([\w.-]+)=([^&#\s]+)/g, (whole, sign: string, name: string, value: string) =>
      isSecret(name, value) ? `${sign}${name}=${mask(value)}` : whole,
    )
}

function mask(secret: string): string {
  if (isReference(secret)) return secret
  return `(secret ${createHash('sha256').update(secret).digest('hex').slice(0, 12)})`
}

/** A variable stands for a value; it is none. */
function isReference(text: string): boolean {
  return /^\$\{[^}]*\}$/.test(text)
}

import { createHash } from 'node:crypto'
import { asWritten, type ServerConfig } from '../config/server-config.ts'

/** What decides which program or address a server is. Values that may be secrets are there by their digest only. */
export interface ServerCommand {
  readonly transport: 'stdio' | 'http' | 'sse'
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
  /** By name: a `${VARIABLE}` as it is written, else a digest. A variable like `NODE_OPTIONS` decides what is run. */
  readonly env?: Readonly<Record<string, string>>
  /** Names only, sorted. */
  readonly headers?: readonly string[]
}

/**
 * A server's command as an approval covers it: as it was written, so that a lockfile means the same on another
 * machine. What looks like a secret all the same is replaced by a digest; it may still not change unnoticed.
 */
export function commandOf(config: ServerConfig): ServerCommand {
  const { type, command, args = [], cwd, url, env = {}, headers = {} } = asWritten(config)
  const transport = type ?? (command === undefined ? 'http' : 'stdio')
  if (transport !== 'stdio') {
    const names = Object.keys(headers).sort()
    return {
      transport,
      ...(url === undefined ? {} : { url: maskUrl(url) }),
      ...(names.length === 0 ? {} : { headers: names }),
    }
  }
  const variables = Object.entries(env).map(([name, value]) => [name, mask(String(value))] as const)
  return {
    transport,
    ...(command === undefined ? {} : { command }),
    ...(args.length === 0 ? {} : { args: maskArguments([command ?? '', ...args]).slice(1) }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(variables.length === 0 ? {} : { env: Object.fromEntries(variables) }),
  }
}

const SECRET_NAME =
  /(^|[-_.])(token|secret|password|passwd|passphrase|pwd|pass|pat|jwt|auth|authorization|bearer|credentials?|signature|sig|key|apikey)$/i
const SECRET_CAMEL_NAME = /[a-z](Token|Secret|Password|Key)$/
const SECRET_VALUE =
  /^(gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|xox[abprs]-|AKIA|AIza|npm_|eyJ[\w-]+\.)[\w.-]{12,}$/

const HEADER_FLAG = /^(-H|--headers?)$/
const VARIABLE_FLAG = /^(-e|--env)$/
const CONTAINER_COMMAND = /(^|[/\\])(docker|podman|nerdctl)(\.exe)?$/

function maskArguments(args: readonly string[]): string[] {
  // Elsewhere -e is code to run, which whoever approves it must see.
  const container = args.findIndex((arg) => CONTAINER_COMMAND.test(arg))
  return args.map((arg, index) => {
    const before = args[index - 1] ?? ''
    const isInContainer = container >= 0 && index > container
    const [, flag, value] = /^(--?[^=\s]*)=(.*)$/s.exec(arg) ?? []
    if (flag !== undefined && value !== undefined) return `${flag}=${maskValueOf(flag, value, isInContainer)}`
    const isValue = before.startsWith('-') && !arg.startsWith('-')
    return maskValueOf(isValue ? before : '', arg, isInContainer)
  })
}

function maskValueOf(flag: string, value: string, isInContainer: boolean): string {
  if (HEADER_FLAG.test(flag))
    return value.replace(
      /^([\w-]+:\s*)(.+)$/s,
      (_, name: string, content: string) => `${name}${mask(content)}`,
    )
  const [, name, content] = /^(\w+)=(.*)$/s.exec(value) ?? []
  if (name !== undefined && content !== undefined) {
    const isVariable = flag === '--env' || (isInContainer && VARIABLE_FLAG.test(flag))
    if (isVariable || isSecret(name, content)) return `${name}=${mask(content)}`
  }
  return isSecret(flag, value) ? mask(value) : maskUrl(value)
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_CAMEL_NAME.test(name) || SECRET_VALUE.test(value)
}

/** An address without its password and without secrets among its parameters; other texts as they are. */
function maskUrl(text: string): string {
  return text
    .replace(
      /^([a-z][\w+.-]*:\/\/[^/?#@\s:]*:)([^/?#@\s]+)(?=@)/i,
      (_, start: string, password: string) => `${start}${mask(password)}`,
    )
    .replace(/^([a-z][\w+.-]*:\/\/)([^/?#@\s:]+)(?=@)/i, (whole, start: string, user: string) =>
      SECRET_VALUE.test(user) ? `${start}${mask(user)}` : whole,
    )
    .replace(/([?&])([\w.-]+)=([^&#\s]+)/g, (whole, sign: string, name: string, value: string) =>
      isSecret(name, value) ? `${sign}${name}=${mask(value)}` : whole,
    )
}

function mask(secret: string): string {
  if (secret === '' || isReference(secret)) return secret
  return `(secret ${createHash('sha256').update(secret).digest('hex').slice(0, 12)})`
}

/** A variable stands for a value; it is none, unless it brings one along as its default. */
function isReference(text: string): boolean {
  return /^((bearer|basic|token) )?\$\{(?![^}]*:-[^}])[^}]*\}$/i.test(text)
}

import { createHmac } from 'node:crypto'
import { maskSecrets } from '../../secrets/mask-secrets.ts'
import { isSecretName } from '../../secrets/secret-signs.ts'
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
  /** By name, likewise: a header may decide whose data a server gives. */
  readonly headers?: Readonly<Record<string, string>>
  /** Present for a server that is trusted: what it says is then not marked as untrusted. */
  readonly trust?: true
}

/** Stands for a value that may be a secret. */
export type Digest = (value: string) => string

/**
 * A SHA-256 digest under a salt. Whoever reads two lockfiles cannot tell that a value stands in both, and a list of
 * digests made in advance is of no use. Short literals can still be guessed one by one: secrets belong in variables.
 */
export function saltedDigest(salt: string): Digest {
  return (value) => `(secret ${createHmac('sha256', salt).update(value).digest('hex')})`
}

/**
 * A server's command as an approval covers it: as it was written, so that a lockfile means the same on another
 * machine. What looks like a secret all the same is replaced by a digest; it may still not change unnoticed.
 */
export function commandOf(config: ServerConfig, digest: Digest): ServerCommand {
  const { type, command, args = [], cwd, url, env = {}, headers = {} } = asWritten(config)
  const trust = config.trust === true ? { trust: true as const } : {}
  const transport = type ?? (command === undefined ? 'http' : 'stdio')
  const mask: Digest = (value) => (value === '' || isReference(value) ? value : digest(value))
  if (transport !== 'stdio') {
    return {
      transport,
      ...(url === undefined ? {} : { url: maskSecrets(url, mask) }),
      ...(isEmpty(headers) ? {} : { headers: maskValues(headers, mask) }),
      ...trust,
    }
  }
  return {
    transport,
    ...(command === undefined ? {} : { command }),
    ...(args.length === 0 ? {} : { args: maskArguments([command ?? '', ...args], mask).slice(1) }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(isEmpty(env) ? {} : { env: maskValues(env, mask) }),
    ...trust,
  }
}

/**
 * Where a config holds what looks like a secret and is no variable: `args.2`, `env.TOKEN`, `url`. Never the values.
 */
export function literalSecrets(config: ServerConfig): string[] {
  const MARK = '\0'
  const { args = [], url, env = {}, headers = {} } = commandOf(config, () => MARK)
  const named = (group: string, map: Readonly<Record<string, string>>) =>
    Object.keys(map)
      .filter((name) => map[name] === MARK && isSecretName(name))
      .map((name) => `${group}.${name}`)
  return [
    ...args.flatMap((arg, at) => (arg.includes(MARK) ? [`args.${at}`] : [])),
    ...(url?.includes(MARK) ? ['url'] : []),
    ...named('env', env),
    ...named('headers', headers),
  ]
}

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0
}

function maskValues(map: Readonly<Record<string, string>>, mask: Digest): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, mask(String(value))]))
}

const HEADER_FLAG = /^(-H|--headers?)$/
const VARIABLE_FLAG = /^(-e|--env)$/
const CODE_FLAG = /^(-e|-c|-p|--eval|--print|--command)$/
const CONTAINER_COMMAND = /(^|[/\\])(docker|podman|nerdctl)(\.exe)?$/

function maskArguments(args: readonly string[], mask: Digest): string[] {
  // Elsewhere -e is code to run, which whoever approves it must see.
  const container = args.findIndex((arg) => CONTAINER_COMMAND.test(arg))
  return args.map((arg, index) => {
    const before = args[index - 1] ?? ''
    const isInContainer = container >= 0 && index > container
    const [, flag, value] = /^(--?[^=\s]*)=(.*)$/s.exec(arg) ?? []
    if (flag !== undefined && value !== undefined)
      return `${flag}=${maskArgument({ flag, value, isInContainer }, mask)}`
    const isValue = before.startsWith('-') && (isNoFlag(arg) || (isSecretFlag(before) && isHardlyFlag(arg)))
    return maskArgument({ flag: isValue ? before : '', value: arg, isInContainer }, mask)
  })
}

function isNoFlag(arg: string): boolean {
  return !arg.startsWith('-')
}

/** A secret may begin with a dash; after an option that takes one, only what is clearly an option is none. */
function isHardlyFlag(arg: string): boolean {
  return !/^(-\w{0,2}|--[a-z][a-z-]*)$/.test(arg)
}

function isSecretFlag(flag: string): boolean {
  return flag.startsWith('-') && !flag.includes('=') && isSecretName(flag)
}

interface Argument {
  /** The option it is the value of; '' when it is none's. */
  readonly flag: string
  readonly value: string
  readonly isInContainer: boolean
}

function maskArgument({ flag, value, isInContainer }: Argument, mask: Digest): string {
  if (HEADER_FLAG.test(flag))
    return value.replace(
      /^([\w-]+:\s*)(.+)$/s,
      (_, name: string, content: string) => `${name}${mask(content)}`,
    )
  const [, name, content] = /^(\w+)=(.*)$/s.exec(value) ?? []
  const isVariable = flag === '--env' || (isInContainer && VARIABLE_FLAG.test(flag))
  if (isVariable && name !== undefined && content !== undefined) return `${name}=${mask(content)}`
  if (isSecretFlag(flag)) return mask(value)
  return maskSecrets(value, mask, { isCode: !isInContainer && CODE_FLAG.test(flag) })
}

/** How deep variables may be nested in defaults to be taken for variables. */
const MAX_DEPTH = 16

/** Whether a text is made of variables alone, without a literal default that could be a secret. */
function isReference(text: string): boolean {
  let rest = text.replace(/^(bearer|basic|token) /i, '')
  // From the inside out: a default may be a variable.
  for (let depth = 0; rest !== '' && depth < MAX_DEPTH; depth++) {
    rest = rest.replace(/\$\{[\w.:]+(:-)?\}/g, '')
  }
  return rest === ''
}

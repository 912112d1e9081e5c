import { createHmac } from 'node:crypto'
import { isSecretName, maskSecrets } from '@toolcrib/core/internal'
import { asWritten } from '../config/read-servers.ts'
import type { ServerConfig } from '../config/server-config.ts'

/** What determines which program or address a server is. Possible secrets appear only as digests. */
export interface ServerCommand {
  readonly transport: 'stdio' | 'http' | 'sse'
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
  /** By name: a `${VARIABLE}` as written, otherwise a digest. A variable like `NODE_OPTIONS` can decide what is run. */
  readonly env?: Readonly<Record<string, string>>
  /** By name, as for `env`: a header may decide whose data a server returns. */
  readonly headers?: Readonly<Record<string, string>>
  /** Present for a trusted server: its results are not marked as untrusted. */
  readonly trust?: true
}

/** Replaces a value that may be a secret. */
export type Digest = (value: string) => string

/**
 * Returns a salted SHA-256 digest. The salt prevents comparing values across lockfiles and the use of precomputed
 * digests. Short literals can still be guessed one by one, so secrets belong in variables.
 */
export function saltedDigest(salt: string): Digest {
  return (value) => `(secret ${createHmac('sha256', salt).update(value).digest('hex')})`
}

/**
 * A server's command as an approval covers it: as written, so that a lockfile is the same on every machine. Anything
 * that looks like a secret is replaced by a digest, so that a change is still noticed.
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
 * Returns where a config contains a literal that looks like a secret: `args.2`, `env.TOKEN`, `url`. Never the values.
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

/**
 * Returns the words of the command that starts a server, to be shown to a person: as written, with variables unexpanded
 * and `•••` in place of what looks like a secret. Empty for a server with a URL.
 */
export function commandWords(config: ServerConfig): string[] {
  const { command, args = [] } = commandOf(config, () => '•••')
  return command === undefined ? [] : [command, ...args]
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
  // Elsewhere -e is code to run, which the reviewer must see.
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

/** A secret may start with a dash; after an option that takes a secret, only what is clearly an option is not one. */
function isHardlyFlag(arg: string): boolean {
  return !/^(-\w{0,2}|--[a-z][a-z-]*)$/.test(arg)
}

function isSecretFlag(flag: string): boolean {
  return flag.startsWith('-') && !flag.includes('=') && isSecretName(flag)
}

interface Argument {
  /** The option that it is the value of; '' if none. */
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

/** How deep defaults may nest variables to still be recognised. */
const MAX_DEPTH = 16

/** Whether a text consists only of variables, without a literal default that could be a secret. */
function isReference(text: string): boolean {
  let rest = text.replace(/^(bearer|basic|token) /i, '')
  // From the inside out, because a default may be a variable.
  for (let depth = 0; rest !== '' && depth < MAX_DEPTH; depth++) {
    rest = rest.replace(/\$\{[\w.:]+(:-)?\}/g, '')
  }
  return rest === ''
}

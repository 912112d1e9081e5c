import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { configDirectory, type Environment } from '@toolcrib/mcp'
import { makeFolder } from '@toolcrib/mcp/stores'
import { UsageError } from '../terminal/usage-error.ts'

/** The flags that say which token clients must send. */
export interface TokenFlags {
  readonly host: string
  /** `false` with `--no-token`. */
  readonly token?: string | false
  readonly tokenFile?: string
  /** The file with the operator's token. */
  readonly operatorTokenFile?: string
}

/** The token that clients must send. */
export interface AccessToken {
  readonly token: string
  /** true: it was created by this process. */
  readonly isNew: boolean
  /** The file that contains it; undefined if it is lost with this process, or is on the command line. */
  readonly file?: string
}

/**
 * Chooses the token: from the flag or file, or that of the user's config folder, which is created if there is none; none
 * with `--no-token`. Without a config folder it is lost with this process.
 * Throws `UsageError` for a token that a header cannot contain or that can be guessed, and for `--no-token` on an
 * address that other machines can reach; `config-invalid` for a file that others can read, or whose token a header
 * cannot contain.
 */
export async function chooseToken(
  flags: TokenFlags,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<AccessToken | undefined> {
  const { host, token, tokenFile } = flags
  if (tokenFile !== undefined && token !== undefined)
    throw new UsageError('give one of --token, --token-file and --no-token')
  if (token === false) {
    if (isLoopback(host)) return undefined
    throw new UsageError(
      `--no-token is for loopback addresses, and ${host} can be reached from other machines`,
    )
  }
  if (token !== undefined) return { token: checkedFlag(token), isNew: false }
  if (tokenFile !== undefined) return fromFile(resolve(cwd, tokenFile))
  const own = userTokenFile(env)
  if (own === undefined) return newToken()
  // A file that exists and cannot be used is an error; one that cannot be created is not.
  return existsSync(own) ? fromFile(own) : fromFile(own).catch(newToken)
}

/**
 * The token of the person who runs the gateway: in a file of their own, so that it lasts; none with `--no-token`. If
 * that file cannot be used and no flag names it, the token lasts as long as this process.
 */
export async function operatorToken(
  { token, operatorTokenFile }: TokenFlags,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<AccessToken | undefined> {
  if (operatorTokenFile !== undefined) {
    if (token === false) throw new UsageError('give one of --operator-token-file and --no-token')
    return fromFile(resolve(cwd, operatorTokenFile))
  }
  if (token === false) return undefined
  const own = userTokenFile(env, 'operator-token')
  return own === undefined ? newToken() : fromFile(own).catch(newToken)
}

/** The token that this user's clients have in their configs; created if there is none. */
export function userToken(env: Environment): Promise<AccessToken> {
  const path = userTokenFile(env)
  if (path === undefined) throw invalid('there is no config folder for the token; set HOME')
  return fromFile(path)
}

function userTokenFile(env: Environment, name = 'token'): string | undefined {
  const folder = configDirectory(env)
  return folder === undefined ? undefined : join(folder, name)
}

/** A token that is lost with this process. */
function newToken(): AccessToken {
  return { token: randomToken(), isNew: true }
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (address === 'localhost' || address === '::1') return true
  return isIP(address) === 4 && address.startsWith('127.')
}

function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The token in a file. A new file is created readable only by its owner, before the token is written. */
export async function fromFile(path: string): Promise<AccessToken> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw invalid(`the token file ${path} cannot be read: ${error.message}`)
  })
  if (text !== undefined) {
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw invalid(`other users can read the token file ${path}; run "chmod 600 ${path}"`)
    return { token: checked(text.trim(), path), isNew: false, file: path }
  }
  const token = randomToken()
  const fail = (error: Error) => {
    throw invalid(`the token file ${path} cannot be written: ${error.message}`)
  }
  await makeFolder(dirname(path), { mode: 0o777 }).catch(fail)
  const file = await open(path, 'wx', 0o600).catch(fail)
  await file.writeFile(`${token}\n`).finally(() => file.close())
  return { token, isNew: true, file: path }
}

/** RFC 6750: the characters that may follow "Bearer". */
const BEARER = /^[\w\-.~+/]+=*$/

function checked(token: string, from: string): string {
  if (BEARER.test(token)) return token
  throw invalid(`the token of ${from} may contain only letters, digits and -._~+/`)
}

/** The gateway requires the same of every token. */
const MIN_TOKEN_CHARACTERS = 16

function checkedFlag(token: string): string {
  if (!BEARER.test(token)) throw new UsageError('--token may contain only letters, digits and -._~+/')
  if (token.length >= MIN_TOKEN_CHARACTERS) return token
  throw new UsageError(
    `--token must have at least ${MIN_TOKEN_CHARACTERS} characters; a shorter one can be guessed`,
  )
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { chmod, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Environment, stateDirectory } from '@toolcrib/mcp'
import { makeFolder } from '@toolcrib/mcp/stores'

/**
 * The path of the socket at which the user who started a gateway of these config files can reach it. The same files
 * give the same path in every folder.
 */
export function socketPath(files: readonly string[], env: Environment): string {
  const key = keyOf(files)
  return process.platform === 'win32' ? `\\\\.\\pipe\\toolcrib-${key}` : socketFile(key, env)
}

/** How clients reach a gateway. */
type TransportKind = 'http' | 'stdio'

/**
 * The path of the socket of one more gateway of these config files: one that serves a client over stdio, or that was
 * started while another has `socketPath()`. undefined on Windows, where such sockets could not be listed.
 */
export function extraSocketPath(
  files: readonly string[],
  env: Environment,
  kind: TransportKind,
  pid = process.pid,
): string | undefined {
  return process.platform === 'win32' ? undefined : socketFile(`${keyOf(files)}-${kind}-${pid}`, env)
}

/** The process id in the path of an extra socket. */
export function pidOfSocket(path: string): number | undefined {
  const pid = /-(\d+)\.sock$/.exec(path)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

function socketFile(name: string, env: Environment): string {
  const path = join(runtimeFolder(env), `${name}.sock`)
  return path.length <= MAX_SOCKET_PATH ? path : join(shortFolder(), `${name}.sock`)
}

/** The sockets of this user's gateways, whatever their configs; none on Windows. Some may be of gateways that were killed. */
export async function socketPaths(env: Environment): Promise<string[]> {
  return (await socketFiles(env)).slice(0, MAX_SOCKETS)
}

/** The extra sockets of gateways of these config files, of one kind or of both. */
export async function extraSocketPaths(
  files: readonly string[],
  env: Environment,
  kind?: TransportKind,
): Promise<string[]> {
  const start = `${keyOf(files)}-${kind === undefined ? '' : `${kind}-`}`
  return (await socketFiles(env)).filter((path) => basename(path).startsWith(start)).slice(0, MAX_SOCKETS)
}

const MAX_SOCKETS = 50

async function socketFiles(env: Environment): Promise<string[]> {
  if (process.platform === 'win32') return []
  const folders = [...new Set([runtimeFolder(env), shortFolder()])]
  const found = await Promise.all(
    folders.map(async (folder) => {
      const names = (await isPrivate(folder)) ? await readdir(folder).catch(() => []) : []
      return names.filter((name) => name.endsWith('.sock')).map((name) => join(folder, name))
    }),
  )
  return found.flat()
}

/** Whether nobody else can put a socket there: a gateway of another user would read what a client sends. */
export async function isPrivate(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined)
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
}

/** The log file of such a gateway; undefined if the user has no folder for it. */
export function logPath(files: readonly string[], env: Environment): string | undefined {
  const folder = stateDirectory(env)
  return folder === undefined ? undefined : join(folder, 'logs', `${keyOf(files)}.log`)
}

/**
 * Where gateways of these config files record calls; undefined if the user has no folder for it. The last file decides:
 * the record must not end where the user's own config, which comes first, is written for the first time.
 */
export function auditFolder(files: readonly string[], env: Environment): string | undefined {
  const folder = stateDirectory(env)
  return folder === undefined ? undefined : join(folder, 'audit', keyOf(files.slice(-1)))
}

function keyOf(files: readonly string[]): string {
  return createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 16)
}

/** Systems truncate longer socket paths, at 104 or 108 bytes. */
const MAX_SOCKET_PATH = 100

function runtimeFolder({ XDG_RUNTIME_DIR, XDG_STATE_HOME, HOME }: Environment): string {
  if (XDG_RUNTIME_DIR) return join(XDG_RUNTIME_DIR, 'toolcrib')
  if (XDG_STATE_HOME) return join(XDG_STATE_HOME, 'toolcrib', 'run')
  const folder = userRuntimeFolder()
  if (folder) return join(folder, 'toolcrib')
  return HOME ? join(HOME, '.local', 'state', 'toolcrib', 'run') : shortFolder()
}

/**
 * The usual value of `XDG_RUNTIME_DIR` on Linux. MCP clients start servers without that variable, and must find the
 * gateway of a terminal that has it.
 */
export function userRuntimeFolder(root = '/run/user'): string | undefined {
  const uid = process.getuid?.()
  const folder = join(root, String(uid))
  const found = statSync(folder, { throwIfNoEntry: false })
  return found?.uid === uid && found?.isDirectory() ? folder : undefined
}

function shortFolder(): string {
  return join(tmpdir(), `toolcrib-${process.getuid?.() ?? 0}`)
}

/** Creates a folder that only its owner can enter. Returns false if it belongs to somebody else. */
export async function ensurePrivateFolder(folder: string): Promise<boolean> {
  await makeFolder(folder, { mode: 0o700 })
  const { uid, mode } = await stat(folder)
  if (uid !== process.getuid?.()) return false
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700)
  return true
}

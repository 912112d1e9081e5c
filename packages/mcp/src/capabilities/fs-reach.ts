import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, readdir } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import {
  type CapabilityBackend,
  CapabilityError,
  type FileAccess,
  type FileInfo,
  ToolcribError,
} from '@toolcrib/core'
import {
  anyText,
  checkOptions,
  describeError,
  type OptionRules,
  textList,
  turns,
  wholeNumber,
} from '@toolcrib/core/internal'
import { writeWhole } from '../stores/files/write-whole.ts'
import { checkRunning } from './check-running.ts'
import {
  type Opened,
  openDirectoryWithin,
  openReal,
  pathInside,
  pathOfHandle,
  realPathWithin,
} from './files/open-within.ts'
import { grantedRoots, isMissingError, systemCode } from './files/roots.ts'
import { inBatches } from './in-batches.ts'

/** Which files may be read and written, and their maximum size. */
export interface FsReachOptions {
  /** Directories (or single files) that may be read. */
  readonly read?: readonly string[]
  /** Directories that may be written to. Write access does not include read access. */
  readonly write?: readonly string[]
  /** Base directory of relative paths. The first root by default. */
  readonly base?: string
  /** Largest file that may be read, in bytes. 10 MiB by default. */
  readonly maxReadBytes?: number
  /** Largest file that may be written, in bytes. 10 MiB by default. */
  readonly maxWriteBytes?: number
}

const OPTIONS: OptionRules<FsReachOptions> = {
  read: textList,
  write: textList,
  base: anyText,
  maxReadBytes: wholeNumber({ from: 1 }),
  maxWriteBytes: wholeNumber({ from: 1 }),
}

const MAX_BYTES = 10 * 1024 * 1024

/**
 * Grants access to files below the host's roots. Paths are resolved to real paths; any path that leaves the roots
 * through `..`, an absolute path or a link is denied, even if the link appears between check and use. Only regular
 * files are read and written. Writes go to a temporary file that is renamed into place; changes to one file run one
 * at a time.
 */
export function fsReachBackend(options: FsReachOptions): CapabilityBackend<'fs_reach'> {
  checkOptions('fsReachBackend()', options, OPTIONS)
  const { maxReadBytes = MAX_BYTES, maxWriteBytes = MAX_BYTES } = options
  const readable = options.read ?? []
  const writable = options.write ?? []
  const first = options.base ?? readable[0] ?? writable[0]
  if (first === undefined) {
    throw new ToolcribError(
      'config-invalid',
      'fsReachBackend grants nothing; list directories in read or write',
    )
  }
  const base = resolve(first)
  const inTurn = turns()

  return {
    async open(declared, scope) {
      const readRoots = await grantedRoots(declared.read ?? [], readable, base)
      const writeRoots = await grantedRoots(declared.write ?? [], writable, base)
      if (readRoots.length + writeRoots.length === 0) {
        throw new CapabilityError(
          'denied',
          `the host grants ${scope.tool} none of the paths it declares; add them to the roots of fsReachBackend`,
        )
      }

      /** Runs one operation on an absolute path; rethrows system errors with the next step. */
      const on = async <Value>(
        path: string,
        roots: readonly string[],
        what: 'read' | 'written',
        operate: (absolute: string, roots: readonly string[]) => Promise<Value>,
      ): Promise<Value> => {
        checkRunning(scope.signal)
        if (path.includes('\0')) throw new CapabilityError('denied', 'a path must not contain NUL bytes')
        if (roots.length === 0) {
          throw new CapabilityError(
            'denied',
            `${scope.tool} has no directories that may be ${what}; ask the user to grant one in fsReachBackend`,
          )
        }
        try {
          return await operate(resolve(base, path), roots)
        } catch (thrown) {
          throw explain(thrown, path)
        }
      }

      const access: FileAccess = {
        readFile: (path) =>
          on(path, readRoots, 'read', (absolute, roots) => readWithin(absolute, roots, maxReadBytes)),
        async writeFile(path, data) {
          const bytes = bytesOf(data, path, maxWriteBytes)
          await on(path, writeRoots, 'written', async (absolute, roots) =>
            inTurn(await writeTarget(absolute, roots), () => writeWithin(absolute, roots, bytes)),
          )
        },
        async update(path, change) {
          await on(path, writeRoots, 'written', async (absolute, roots) =>
            inTurn(await writeTarget(absolute, roots), async () => {
              const data = await on(path, readRoots, 'read', (file, from) =>
                readWithin(file, from, maxReadBytes),
              )
              const changed = change(data)
              if (changed === undefined) return
              await writeWithin(absolute, roots, bytesOf(changed, path, maxWriteBytes))
            }),
          )
        },
        list: (path) => on(path, readRoots, 'read', listWithin),
        stat: (path) => on(path, readRoots, 'read', statWithin),
      }
      return access
    },
  }
}

function bytesOf(data: string | Uint8Array, path: string, maxBytes: number): Uint8Array {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
  if (bytes.byteLength > maxBytes) throw tooLarge(path, bytes.byteLength, maxBytes)
  return bytes
}

async function readWithin(path: string, roots: readonly string[], maxBytes: number): Promise<Uint8Array> {
  // Checked before opening too, since merely opening a device can trigger it.
  const real = await realPathWithin(path, roots)
  checkRegular(path, await lstat(real))
  const { handle } = await openReal(real, roots, constants.O_RDONLY)
  try {
    const stats = await handle.stat()
    checkRegular(path, stats)
    if (stats.size > maxBytes) throw tooLarge(path, stats.size, maxBytes)
    return await readAtMost(handle, path, stats.size, maxBytes)
  } finally {
    await handle.close()
  }
}

// The reported size may be wrong: files grow while being read, and some file systems report 0 for files with content.
async function readAtMost(
  handle: FileHandle,
  path: string,
  expected: number,
  maxBytes: number,
): Promise<Uint8Array> {
  let buffer = Buffer.allocUnsafe(Math.min(expected, maxBytes) + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
    if (length > maxBytes) throw tooLarge(path, length, maxBytes)
    if (length === buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(length * 2 + 4096, maxBytes + 1))
      buffer.copy(larger)
      buffer = larger
    }
  }
}

async function writeWithin(path: string, roots: readonly string[], data: Uint8Array): Promise<void> {
  const target = await writeTarget(path, roots)
  const directory = await openDirectoryWithin(dirname(target), roots, { create: true })
  const place = pathInside(directory, basename(target))
  try {
    const present = await lstat(place).catch(ignoreMissing)
    if (present !== undefined && !present.isSymbolicLink()) checkRegular(path, present)
    // A link that has appeared meanwhile is replaced, not followed.
    await writeWhole(place, data, { mode: 0o666 })
  } finally {
    await directory.handle.close()
  }
}

/** An existing file may be reached through a link; a new file is created at the given path. */
async function writeTarget(path: string, roots: readonly string[]): Promise<string> {
  try {
    return await realPathWithin(path, roots)
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return path
    throw thrown
  }
}

async function listWithin(path: string, roots: readonly string[]): Promise<FileInfo[]> {
  const directory = await openDirectoryWithin(path, roots)
  try {
    const names = (await readdir(pathOfHandle(directory))).sort()
    const entries = await inBatches(names, (name) => describeEntry(directory, name))
    return entries.filter((entry) => entry !== undefined)
  } finally {
    await directory.handle.close()
  }
}

async function describeEntry(directory: Opened, name: string): Promise<FileInfo | undefined> {
  const stats = await lstat(pathInside(directory, name)).catch(ignoreMissing)
  return stats && fileInfo(resolve(directory.real, name), stats)
}

async function statWithin(path: string, roots: readonly string[]): Promise<FileInfo | undefined> {
  try {
    const real = await realPathWithin(path, roots)
    if (roots.includes(real)) return fileInfo(real, await lstat(real))
    const parent = await openDirectoryWithin(dirname(real), roots)
    try {
      return fileInfo(real, await lstat(pathInside(parent, basename(real))))
    } finally {
      await parent.handle.close()
    }
  } catch (thrown) {
    return ignoreMissing(thrown)
  }
}

function fileInfo(path: string, stats: Stats): FileInfo {
  return { path, name: basename(path), kind: kindOf(stats), size: stats.size }
}

function kindOf(stats: Stats): FileInfo['kind'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'link' : 'other'
}

function ignoreMissing(thrown: unknown): undefined {
  if (!isMissingError(thrown)) throw thrown
}

function checkRegular(path: string, stats: Stats): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) {
    throw new CapabilityError('execution_failed', `"${path}" is a directory; name a file in it`)
  }
  throw new CapabilityError(
    'denied',
    `"${path}" is a device, pipe or socket; only regular files can be read or written`,
  )
}

function tooLarge(path: string, bytes: number, maxBytes: number): CapabilityError {
  return new CapabilityError(
    'execution_failed',
    `"${path}" has ${bytes} bytes, more than the ${maxBytes} bytes the host allows; process it in parts`,
  )
}

function explain(thrown: unknown, path: string): unknown {
  if (thrown instanceof CapabilityError) return thrown
  const code = systemCode(thrown)
  const message = code === undefined ? undefined : SYSTEM_MESSAGES[code]
  if (message === undefined) {
    return new CapabilityError('execution_failed', `"${path}": ${describeError(thrown)}`, { cause: thrown })
  }
  return new CapabilityError('execution_failed', `"${path}" ${message}`, { cause: thrown })
}

const SYSTEM_MESSAGES: { readonly [code: string]: string } = {
  ENOENT: 'does not exist; list its directory to see what does',
  ENOTDIR: 'is not a directory; name a directory',
  EISDIR: 'is a directory; name a file in it',
  EACCES: 'is not accessible to this process; ask the user to change its permissions',
  EPERM: 'is not accessible to this process; ask the user to change its permissions',
  ELOOP: 'is part of a link cycle; name the file itself',
  ENAMETOOLONG: 'has too long a name; choose a shorter one',
  ENOSPC: 'cannot be written, because the disk is full; ask the user to free some space',
}

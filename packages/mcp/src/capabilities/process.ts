import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { type CapabilityBackend, CapabilityError, type ProcessOutcome, ToolcribError } from '@toolcrib/core'
import {
  anyObject,
  anyText,
  checkOptions,
  describeError,
  milliseconds,
  type OptionRules,
  required,
  textList,
  wholeNumber,
} from '@toolcrib/core/internal'
import { checkRunning } from './check-running.ts'
import { openDirectoryWithin, pathOfHandle } from './files/open-within.ts'
import { grantedRoots } from './files/roots.ts'
import { findCommand, searchDirectories } from './process/find-command.ts'
import { OutputWindow } from './process/output-window.ts'
import { endGroup, signalGroup } from './process/process-group.ts'

/** Which commands may run, where, for how long, and how much of their output is kept. */
export interface ProcessOptions {
  /** Names or absolute paths of the allowed commands; `*` allows every command on the path. */
  readonly commands: readonly string[]
  /**
   * Directories in which commands may run, including subdirectories. The first is the default. Defaults to the
   * current one.
   */
  readonly directories?: readonly string[]
  /** Directories to search for commands, in PATH format. Defaults to this process's PATH, read once. */
  readonly path?: string
  /** Environment variables to pass on, besides a few harmless ones (HOME, LANG, TMPDIR, TZ …). */
  readonly passEnv?: readonly string[]
  /** Environment variables to set for every command. */
  readonly env?: { readonly [name: string]: string }
  /** Time limit per command. Two minutes by default. */
  readonly timeoutMs?: number
  /** Bytes to keep of each of stdout and stderr, half from the start and half from the end. 1 MiB by default. */
  readonly maxOutputBytes?: number
  /** Time between SIGTERM and SIGKILL. Two seconds by default. */
  readonly graceMs?: number
}

const OPTIONS: OptionRules<ProcessOptions> = {
  commands: required(textList),
  directories: textList,
  path: anyText,
  passEnv: textList,
  env: anyObject,
  timeoutMs: milliseconds({ from: 1 }),
  maxOutputBytes: wholeNumber({ from: 1 }),
  graceMs: milliseconds(),
}

const HARMLESS_VARIABLES = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'TERM', 'TMPDIR', 'TZ', 'USER']
/** A command is stopped once its output exceeds the limit this many times over; reading on would waste time. */
const FLOOD_FACTOR = 64
/** How long to wait for remaining output after the command has exited. */
const DRAIN_MS = 1_000

/**
 * Starts allowlisted commands, never through a shell. Each command runs in its own process group. The whole group is
 * killed on a timeout, on cancellation, when its output floods, when the command exits and leaves processes behind,
 * and when this process exits.
 */
export function processBackend(options: ProcessOptions): CapabilityBackend<'process'> {
  checkOptions('processBackend()', options, OPTIONS)
  const { timeoutMs = 120_000, maxOutputBytes = 1024 * 1024, graceMs = 2_000 } = options
  const directories = options.directories ?? [process.cwd()]
  const base = resolve(directories[0] ?? '.')
  if (directories.length === 0) {
    throw new ToolcribError(
      'config-invalid',
      'processBackend has no directory to run commands in; add one to directories',
    )
  }
  const path = options.path ?? process.env.PATH ?? ''
  const onPath = searchDirectories(path)
  const env = {
    ...pick(process.env, [...HARMLESS_VARIABLES, ...(options.passEnv ?? [])]),
    PATH: path,
    ...options.env,
  }
  const live = liveGroups()

  return {
    async open(declared, scope) {
      const hostFiles = await commandFiles(options.commands, onPath)
      const granted = common(await commandFiles(declared, onPath), hostFiles)
      const listed = declared.includes('*') ? options.commands : declared
      if (granted !== 'all' && granted.size === 0) {
        throw new CapabilityError(
          'denied',
          `the host grants ${scope.tool} none of the commands it declares (${listed.join(', ')}); add them to processBackend or install them`,
        )
      }

      return {
        async run(command, args = [], { cwd = '.', input, timeoutMs: wanted = timeoutMs } = {}) {
          checkRunning(scope.signal)
          const file = await findCommand(command, onPath)
          if (file === undefined || (granted !== 'all' && !granted.has(file)))
            throw refusal(command, file, listed)
          const roots = await grantedRoots(['*'], directories, base)
          const directory = await openWorkingDirectory(resolve(base, cwd), cwd, roots)
          try {
            const child = spawn(file, [...args], {
              cwd: pathOfHandle(directory),
              env,
              detached: process.platform !== 'win32',
              windowsHide: true,
              stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
            })
            live.add(child)
            try {
              const limits = {
                timeoutMs: wanted >= 1 ? Math.min(wanted, timeoutMs) : timeoutMs,
                maxOutputBytes,
                graceMs,
              }
              return await watch(child, command, input, limits, scope.signal)
            } finally {
              live.delete(child)
            }
          } catch (thrown) {
            throw startFailure(thrown, command)
          } finally {
            await directory.handle.close()
          }
        },
      }
    },
  }
}

/** Resolves a list of commands to absolute paths. */
async function commandFiles(
  commands: readonly string[],
  onPath: readonly string[],
): Promise<Set<string> | 'all'> {
  if (commands.includes('*')) return 'all'
  const files = await Promise.all(commands.map((command) => findCommand(command, onPath)))
  return new Set(files.filter((file) => file !== undefined))
}

function common(first: Set<string> | 'all', second: Set<string> | 'all'): Set<string> | 'all' {
  if (first === 'all') return second
  if (second === 'all') return first
  return new Set([...first].filter((file) => second.has(file)))
}

interface Limits {
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly graceMs: number
}

async function watch(
  child: ChildProcess,
  command: string,
  input: string | undefined,
  limits: Limits,
  signal: AbortSignal,
): Promise<ProcessOutcome> {
  const { maxOutputBytes, graceMs, timeoutMs } = limits
  const stdout = new OutputWindow(maxOutputBytes)
  const stderr = new OutputWindow(maxOutputBytes)
  let stopped: 'timeout' | 'cancelled' | undefined
  let ending: Promise<void> | undefined
  let isFlooded = false
  const end = () => {
    ending ??= endGroup(child, graceMs)
  }
  const stop = (reason: 'timeout' | 'cancelled') => {
    stopped ??= reason
    end()
  }
  const keep = (window: OutputWindow) => (chunk: Buffer) => {
    window.push(chunk)
    if (window.totalBytes <= maxOutputBytes * FLOOD_FACTOR) return
    isFlooded = true
    end()
  }
  child.stdout?.on('data', keep(stdout))
  child.stderr?.on('data', keep(stderr))
  // A command may close its input without reading it.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)

  const onAbort = () => stop('cancelled')
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => stop('timeout'), timeoutMs)
  try {
    if (signal.aborted) onAbort()
    const { exitCode, signal: killedBy } = await exitOf(child)
    // Processes left behind are killed first, since they may hold the output open.
    ending ??= endGroup(child, graceMs)
    await ending
    await drained(child)
    if (stopped === 'cancelled')
      throw new CapabilityError('cancelled', `"${command}" was stopped: the call was cancelled`)
    if (stopped === 'timeout') throw timedOut(command, timeoutMs, stdout, stderr)
    return {
      exitCode,
      signal: killedBy,
      stdout: stdout.text(),
      stderr: stderr.text(),
      isCut: stdout.isCut || stderr.isCut,
      ...(isFlooded ? { isFlooded } : {}),
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function exitOf(child: ChildProcess): Promise<{ exitCode: number | null; signal: string | null }> {
  return new Promise((settle, fail) => {
    child.once('error', fail)
    child.once('exit', (exitCode, signal) => settle({ exitCode, signal }))
  })
}

/** Waits until all output has arrived, but not for a process that left the group and holds the pipe open. */
function drained(child: ChildProcess): Promise<void> {
  return new Promise((settle) => {
    if (child.stdout?.closed !== false && child.stderr?.closed !== false) return settle()
    const timer = setTimeout(() => {
      child.stdout?.destroy()
      child.stderr?.destroy()
      settle()
    }, DRAIN_MS)
    child.once('close', () => {
      clearTimeout(timer)
      settle()
    })
  })
}

/** The running groups. They are killed without a grace period when this process exits. */
function liveGroups(): { add(child: ChildProcess): void; delete(child: ChildProcess): void } {
  const children = new Set<ChildProcess>()
  const killAll = () => {
    for (const child of children) signalGroup(child, 'SIGKILL')
  }
  return {
    add(child) {
      if (children.size === 0) process.on('exit', killAll)
      children.add(child)
    },
    delete(child) {
      children.delete(child)
      if (children.size === 0) process.off('exit', killAll)
    },
  }
}

async function openWorkingDirectory(path: string, asked: string, roots: readonly string[]) {
  try {
    return await openDirectoryWithin(path, roots)
  } catch (thrown) {
    if (thrown instanceof CapabilityError) throw thrown
    throw new CapabilityError('execution_failed', `"${asked}" is not a directory; name an existing one`, {
      cause: thrown,
    })
  }
}

function pick(
  variables: { readonly [name: string]: string | undefined },
  names: readonly string[],
): { [name: string]: string } {
  const picked: { [name: string]: string } = {}
  for (const name of names) {
    const value = variables[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

function refusal(command: string, file: string | undefined, listed: readonly string[]): CapabilityError {
  const names = listed.join(', ')
  if (/\s/.test(command)) {
    return new CapabilityError(
      'denied',
      `"${command}" is not a command; pass the command's name alone and its arguments as a list`,
    )
  }
  if (file === undefined && (listed.includes('*') || listed.includes(command))) {
    return new CapabilityError('not_available', `"${command}" is not installed here; use another command`)
  }
  return new CapabilityError('denied', `"${command}" is not allowed; allowed commands: ${names || 'none'}`)
}

function timedOut(
  command: string,
  timeoutMs: number,
  stdout: OutputWindow,
  stderr: OutputWindow,
): CapabilityError {
  const said = [stdout.text(), stderr.text()].filter((text) => text !== '').join('\n')
  const until = said === '' ? 'It printed nothing.' : `Output so far:\n${said}`
  return new CapabilityError(
    'timeout',
    `"${command}" was stopped after ${timeoutMs} ms; raise timeoutMs or reduce the work. ${until}`,
  )
}

function startFailure(thrown: unknown, command: string): unknown {
  if (thrown instanceof CapabilityError) return thrown
  return new CapabilityError(
    'execution_failed',
    `"${command}" could not be started: ${describeError(thrown)}`,
    {
      cause: thrown,
    },
  )
}

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** The environment variable that marks a server's processes; children inherit it. */
const SERVER_ID = 'TOOLCRIB_SERVER_ID'

/** How to start a server. */
export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  /** Called with each line that the server writes to stderr. */
  readonly onOutput?: (line: string) => void
  /** The time in milliseconds. */
  readonly now?: () => number
}

/** How a server's process ended. */
export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Before the server replaces this shell, a second shell stays behind in its process group. It reads from a pipe whose
 * other end only the host holds, so it wakes up when the host ends for whatever reason, then kills the group and
 * every other process with the server's mark, and itself last. It is not a child of the server, so the server does
 * not wait for it.
 */
const GUARDED_START = `
( (
  trap '' TERM
  read -r line <&3
  self=$(exec sh -c 'echo $PPID')
  signal_marked() {
    for file in $(grep -lsF "${SERVER_ID}=$${SERVER_ID}" /proc/[0-9]*/environ); do
      pid=\${file#/proc/}
      [ "\${pid%/environ}" = "$self" ] || kill -s "$1" "\${pid%/environ}"
    done
  }
  kill -s TERM 0
  signal_marked TERM
  sleep 1
  signal_marked KILL
  kill -s KILL 0
) </dev/null >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`

/** The shell begins its own errors with this name, for example when it cannot find the command. */
const SHELL_NAME = 'toolcrib'

/** How long to wait after closing stdin, after SIGTERM, after the leader has exited, and for the group to disappear. */
const GRACE_MS = { stdin: 500, term: 700, group: 100, reap: 60 }
const POLL_MS = 5
const MAX_ROUNDS = 20

interface Pipes {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/**
 * A server's process with everything it starts, in their own process group and with their own mark. None of them
 * outlives `stop()`, the end of the server itself, or the end of the host.
 */
export class ServerProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves once the process has exited and its output has been read. */
  readonly ended: Promise<ServerExit>
  readonly #child: ChildProcess
  readonly #id: string
  readonly #exited: Promise<ServerExit>
  readonly #output: ServerOutput
  #groupEnd: Promise<void> | undefined

  private constructor(
    child: ChildProcess,
    id: string,
    { stdin, stdout, stderr }: Pipes,
    { onOutput = ignore, now = Date.now }: ServerCommand,
  ) {
    this.#child = child
    this.#id = id
    this.#output = new ServerOutput(onOutput, now)
    this.stdin = stdin
    this.stdout = stdout
    stderr.on('data', (chunk: Buffer) => this.#output.push(chunk))
    for (const stream of child.stdio) stream?.on('error', ignore)
    const exit = () => ({ code: child.exitCode, signal: child.signalCode })
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve(exit())))
    this.ended = new Promise((resolve) => child.once('close', () => resolve(exit())))
    // Child processes of the server may hold its pipes open; until they exit, the output does not end.
    this.#exited.then(() => this.#endGroup())
  }

  /** Starts the process; rejects when it cannot be started. */
  static async start(server: ServerCommand): Promise<ServerProcess> {
    const { command, args, env, cwd } = server
    // Otherwise the system would report that the shell is missing.
    if (cwd !== undefined && !(await isFolder(cwd)))
      throw new Error(`its folder "${cwd}" does not exist; create it, or change "cwd"`)
    const id = randomUUID()
    const child = spawn('/bin/sh', ['-c', GUARDED_START, SHELL_NAME, command, ...args], {
      env: { ...env, [SERVER_ID]: id },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
      ...(cwd === undefined ? {} : { cwd }),
    })
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    const { stdin, stdout, stderr } = child
    if (!stdin || !stdout || !stderr) throw new Error('its pipes did not open')
    return new ServerProcess(child, id, { stdin, stdout, stderr }, server)
  }

  get pid(): number | null {
    return this.#child.pid ?? null
  }

  /** The last output on stderr. */
  get lastWords(): string {
    return this.#output.last
  }

  /** Stops the process: closes stdin, then sends SIGTERM, then SIGKILL. Resolves once the whole group is gone. */
  async stop(): Promise<void> {
    this.stdin.end()
    if (!(await this.#exitsWithin(GRACE_MS.stdin))) {
      this.#signal('SIGTERM')
      if (!(await this.#exitsWithin(GRACE_MS.term))) this.#signal('SIGKILL')
    }
    await this.#exited
    await this.#endGroup()
    for (const stream of this.#child.stdio) stream?.destroy()
  }

  #endGroup(): Promise<void> {
    this.#groupEnd ??= this.#clearGroup()
    return this.#groupEnd
  }

  // The guarding shell ignores SIGTERM, so the process group id stays ours until SIGKILL.
  async #clearGroup(): Promise<void> {
    const marked = new MarkedProcesses(this.#id)
    this.#signal('SIGTERM')
    await marked.signal('SIGTERM')
    await sleep(GRACE_MS.group)
    this.#signal('SIGKILL')
    // Bounded, because new processes may start faster than they are found.
    for (let round = 0; round < MAX_ROUNDS && (await marked.signal('SIGKILL')) > 0; round++);
    // Bounded too: the system takes a moment, and if nobody reaps orphans, their entries remain.
    for (let waited = 0; waited < GRACE_MS.reap && this.#signal(0); waited += POLL_MS) await sleep(POLL_MS)
  }

  async #exitsWithin(graceMs: number): Promise<boolean> {
    const timer = new AbortController()
    const expired = sleep(graceMs, false, { signal: timer.signal }).catch(() => false)
    const hasExited = await Promise.race([this.#exited.then(() => true), expired])
    timer.abort()
    return hasExited
  }

  /** Returns false when no process is left to receive it. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#child.pid === undefined) return false
    try {
      return process.kill(-this.#child.pid, signal)
    } catch {
      return false
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(ignore)
  return found?.isDirectory() === true
}

/** `node:fs/promises` costs twice as much, and there may be thousands of processes. */
const readWhole = promisify(readFile)

/**
 * The processes with a server's id in their environment, including daemons that left its process group. Only Linux
 * exposes the environment of processes; elsewhere none is found.
 */
class MarkedProcesses {
  readonly #mark: string
  /** Other processes that were read: a process does not gain the mark, and process ids are not reused during a stop. */
  readonly #others = new Set<string>()

  constructor(id: string) {
    this.#mark = `${SERVER_ID}=${id}`
  }

  /** Sends a signal to each. Returns how many there were. */
  async signal(signal: NodeJS.Signals): Promise<number> {
    const pids = await this.#find()
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch {
        // It has exited in the meantime.
      }
    }
    return pids.length
  }

  async #find(): Promise<number[]> {
    const entries = await readdir('/proc').catch(() => [])
    const pids = entries.filter((entry) => /^\d+$/.test(entry) && !this.#others.has(entry))
    const isMarked = await Promise.all(pids.map((pid) => this.#isMarked(pid)))
    return pids.filter((_, at) => isMarked[at]).map(Number)
  }

  async #isMarked(pid: string): Promise<boolean> {
    // Processes of other users cannot be read, and must not be ended.
    const environment = await readWhole(`/proc/${pid}/environ`).catch(() => undefined)
    if (environment?.includes(this.#mark)) return true
    // Empty while a program is being loaded, so it is read again.
    if (environment !== undefined && environment.length > 0) this.#others.add(pid)
    return false
  }
}

/** Longer lines are cut. */
const MAX_CHARACTERS = 2_000
/** More lines than this within a second are counted, not reported. */
const MAX_LINES = 50
const WINDOW_MS = 1_000
/** How much is kept, to say why a server ended. */
const KEPT_CHARACTERS = 8_192

/**
 * Reads what a server writes to stderr, line by line. A flood takes little memory, and few of its lines are reported.
 */
export class ServerOutput {
  readonly #onLine: (line: string) => void
  readonly #now: () => number
  readonly #decoder = new StringDecoder('utf8')
  #last = ''
  #rest = ''
  #windowStart = Number.NEGATIVE_INFINITY
  #inWindow = 0
  #dropped = 0

  constructor(onLine: (line: string) => void, now: () => number) {
    this.#onLine = onLine
    this.#now = now
  }

  /** The last lines. */
  get last(): string {
    return this.#last
  }

  push(chunk: Buffer): void {
    const text = this.#decoder.write(chunk)
    this.#last = (this.#last + text).slice(-KEPT_CHARACTERS)
    const lines = (this.#rest + text).split('\n')
    // What is cut off here would be cut from the line anyway.
    this.#rest = (lines.pop() ?? '').slice(0, MAX_CHARACTERS + 1)
    for (const line of lines) this.#report(line)
  }

  #report(line: string): void {
    const text = line.trimEnd()
    if (text === '') return
    const now = this.#now()
    if (now - this.#windowStart >= WINDOW_MS) {
      if (this.#dropped > 0) this.#onLine(`(${this.#dropped} more lines)`)
      this.#windowStart = now
      this.#inWindow = 0
      this.#dropped = 0
    }
    if (++this.#inWindow > MAX_LINES) this.#dropped++
    else this.#onLine(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text)
  }
}

function ignore(): void {}

/** Describes in one line how a server ended and what it last said. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  if (code === 127 || code === 126) {
    const fault = describeUnstarted(code, command, linesOf(lastWords))
    if (fault !== undefined) return fault
  }
  const said = tellingLine(linesOf(lastWords))
  const how = signal ? `it was killed by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; last output: ${said}`
}

/** The exit codes of a shell that cannot start a program: our shell the command, or the command another program. */
function describeUnstarted(code: 126 | 127, command: string, lines: readonly string[]): string | undefined {
  if (lines.at(-1)?.startsWith(`${SHELL_NAME}: `))
    return code === 127
      ? `command "${command}" not found; install it, or add it to the PATH`
      : `command "${command}" cannot be executed; check its file permissions`
  const named = lines.findLast((line) => NOT_FOUND.test(line))
  if (code === 126 || (named === undefined && lines.length > 0)) return undefined
  const what = named === undefined ? ' (exit code 127)' : `: ${named.slice(-MAX_SAID)}`
  return `"${command}" could not find a program it was to run${what}; install that program, or correct the server's args`
}

const NOT_FOUND = /not found|no such file/i

/**
 * npm prints its reason first and the path of its log last; other programs print the error last, apart from a stack
 * trace.
 */
function tellingLine(lines: readonly string[]): string {
  const line =
    lines.find((line) => NPM_ERROR.test(line)) ??
    lines.findLast((line) => /error\b/i.test(line) && !STACK_FRAME.test(line)) ??
    lines.at(-1) ??
    ''
  return line.slice(-MAX_SAID)
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

const MAX_SAID = 300

const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |A complete log)\S+ +\S/
const STACK_FRAME = /^at /

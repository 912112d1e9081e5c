import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** The environment variable that marks a server's processes; children inherit it. */
const SERVER_ID = 'TOOLCRIB_SERVER_ID'

/** How to start a server. */
export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
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

const STDERR_BYTES = 8_192
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
  readonly stderr: Readable
  /** Resolves once the process has exited and its output has been read. */
  readonly ended: Promise<ServerExit>
  readonly #child: ChildProcess
  readonly #id: string
  readonly #exited: Promise<ServerExit>
  readonly #stderr = new TailBuffer(STDERR_BYTES)
  #groupEnd: Promise<void> | undefined

  private constructor(child: ChildProcess, id: string, { stdin, stdout, stderr }: Pipes) {
    this.#child = child
    this.#id = id
    this.stdin = stdin
    this.stdout = stdout
    this.stderr = stderr
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    for (const stream of child.stdio) stream?.on('error', ignore)
    const exit = () => ({ code: child.exitCode, signal: child.signalCode })
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve(exit())))
    this.ended = new Promise((resolve) => child.once('close', () => resolve(exit())))
    // Processes that the server started may hold its pipes open; until they exit, the output does not end.
    this.#exited.then(() => this.#endGroup())
  }

  /** Starts the process; rejects when it cannot be started. */
  static async start({ command, args, env, cwd }: ServerCommand): Promise<ServerProcess> {
    // Otherwise the system would report that the shell is missing.
    if (cwd !== undefined && !(await isFolder(cwd)))
      throw new Error(`its folder "${cwd}" does not exist; create it, or change "cwd"`)
    const id = randomUUID()
    const child = spawn('/bin/sh', ['-c', GUARDED_START, 'toolcrib', command, ...args], {
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
    return new ServerProcess(child, id, { stdin, stdout, stderr })
  }

  get pid(): number | null {
    return this.#child.pid ?? null
  }

  /** The last output on stderr. */
  get lastWords(): string {
    return this.#stderr.text()
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
    this.#signal('SIGTERM')
    await signalMarked(this.#id, 'SIGTERM')
    await sleep(GRACE_MS.group)
    this.#signal('SIGKILL')
    // Bounded, in case new processes start faster than they are found.
    for (let round = 0; round < MAX_ROUNDS && (await signalMarked(this.#id, 'SIGKILL')) > 0; round++);
    // Bounded too: the system takes a moment, and where nobody reaps orphans their entries remain.
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

/**
 * Sends a signal to every process with this id in its environment, including daemons that left the process group.
 * Returns how many there were. Only Linux exposes the environment of processes; elsewhere this returns 0.
 */
async function signalMarked(id: string, signal: NodeJS.Signals): Promise<number> {
  const pids = await markedProcesses(`${SERVER_ID}=${id}`)
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has exited in the meantime.
    }
  }
  return pids.length
}

async function markedProcesses(mark: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => [])
  const pids = entries.filter((entry) => /^\d+$/.test(entry))
  const isMarked = await Promise.all(
    // Processes of other users cannot be read, and are not ours to end.
    pids.map((pid) =>
      readFile(`/proc/${pid}/environ`).then(
        (environment) => environment.includes(mark),
        () => false,
      ),
    ),
  )
  return pids.filter((_, at) => isMarked[at]).map(Number)
}

/** Keeps the last bytes of a stream. */
class TailBuffer {
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): void {
    // A copy: a slice would keep the whole chunk it was cut from.
    const kept = Buffer.from(chunk.subarray(-this.#maxBytes))
    this.#chunks.push(kept)
    this.#bytes += kept.length
    for (
      let first = this.#chunks[0];
      first && this.#bytes - first.length >= this.#maxBytes;
      first = this.#chunks[0]
    ) {
      this.#bytes -= first.length
      this.#chunks.shift()
    }
  }

  text(): string {
    return Buffer.concat(this.#chunks).subarray(-this.#maxBytes).toString('utf8')
  }
}

function ignore(): void {}

/** Describes in one line how a server ended and what it last said. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  const said = tellingLine(lastWords)
  if (code === 127) return `command "${command}" not found; install it, or add it to the PATH`
  if (code === 126) return `command "${command}" cannot be executed; check its file permissions`
  const how = signal ? `it was killed by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; last output: ${said}`
}

/**
 * npm prints its reason first and the path of its log last; other programs print the error last, apart from a stack
 * trace.
 */
function tellingLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const line =
    lines.find((line) => NPM_ERROR.test(line)) ??
    lines.findLast((line) => /error\b/i.test(line) && !STACK_FRAME.test(line)) ??
    lines.at(-1) ??
    ''
  return line.slice(-300)
}

const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |A complete log)\S+ +\S/
const STACK_FRAME = /^at /

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type ServerExit, ServerOutput, SHELL_NAME } from './server-output.ts'

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
  /** true: it may have to install the server first; see `ServerProcess.isInstalling`. */
  readonly isLauncher?: boolean
  /** How long a launcher that installs may clean up after SIGTERM. Default: 20,000. */
  readonly installGraceMs?: number
}

/**
 * Before the server replaces this shell, a second shell stays behind in its process group. It reads from a pipe whose
 * other end only the host holds, so it wakes up when the host ends for whatever reason, then kills the group and
 * every other process with the server's mark, and itself last. It is not a child of the server, so the server does
 * not wait for it. The host writes how many seconds the processes get, and "told" once it has sent SIGTERM itself. No
 * process of the group gets two, since npm gives up its clean-up at the second.
 */
const GUARDED_START = `
( (
  trap '' TERM
  seconds=1 told=
  while read -r next_seconds next_told <&3; do seconds=$next_seconds told=$next_told; done
  self=$(exec sh -c 'echo $PPID')
  signal_marked() {
    for file in $(grep -lsF "${SERVER_ID}=$${SERVER_ID}" /proc/[0-9]*/environ); do
      pid=\${file#/proc/}
      pid=\${pid%/environ}
      group=$(sed 's/.*) . [0-9]* \\([0-9]*\\) .*/\\1/' /proc/$pid/stat)
      [ "$pid" = "$self" ] || [ "$1$group" = TERM$$ ] || kill -s "$1" "$pid"
    done
  }
  [ "$told" ] || { kill -s TERM 0; signal_marked TERM; }
  sleep "$seconds"
  signal_marked KILL
  kill -s KILL 0
) </dev/null >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`

/** How long to wait after closing stdin, after SIGTERM, after the leader has exited, and for the group to disappear. */
const GRACE_MS = { stdin: 500, term: 700, group: 100, reap: 60 }
/** A launcher may have to undo what it has installed so far. */
const INSTALL_GRACE_MS = 20_000
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
  readonly #installGraceMs: number
  #isInstalling = false
  #groupEnd: Promise<void> | undefined

  private constructor(
    child: ChildProcess,
    id: string,
    { stdin, stdout, stderr }: Pipes,
    { onOutput = ignore, now = Date.now, isLauncher = false, installGraceMs }: ServerCommand,
  ) {
    this.#child = child
    this.#id = id
    this.#installGraceMs = installGraceMs ?? INSTALL_GRACE_MS
    this.#output = new ServerOutput(onOutput, now)
    this.stdin = stdin
    this.stdout = stdout
    stderr.on('data', (chunk: Buffer) => this.#output.push(chunk))
    for (const stream of child.stdio) stream?.on('error', ignore)
    this.isInstalling = isLauncher
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

  /**
   * Whether it may still be installing the server. SIGKILL would then leave a broken cache that fails in every program,
   * so it gets more time to end, also from the guarding shell.
   */
  get isInstalling(): boolean {
    return this.#isInstalling
  }

  set isInstalling(isInstalling: boolean) {
    if (isInstalling === this.#isInstalling) return
    this.#isInstalling = isInstalling
    this.#tellGuard(isInstalling ? `${this.#installGraceMs / 1000}` : '1')
  }

  /**
   * Stops the process: closes stdin, then sends SIGTERM, then SIGKILL. Resolves once the whole group is gone, with true
   * if it was killed while it was installing.
   */
  async stop(): Promise<boolean> {
    this.stdin.end()
    let isCutOff = false
    if (!(await this.#exitsWithin(GRACE_MS.stdin))) {
      const isInstalling = this.#isInstalling
      const graceMs = isInstalling ? this.#installGraceMs : GRACE_MS.term
      if (isInstalling) this.#tellGuard(`${graceMs / 1000} told`)
      this.#signal('SIGTERM')
      if (!(await this.#exitsWithin(graceMs))) {
        isCutOff = isInstalling
        this.#signal('SIGKILL')
      }
    }
    await this.#exited
    await this.#endGroup()
    for (const stream of this.#child.stdio) stream?.destroy()
    return isCutOff
  }

  #tellGuard(line: string): void {
    const pipe = this.#child.stdio[3]
    if (pipe && 'write' in pipe && pipe.writable) pipe.write(`${line}\n`)
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

function ignore(): void {}

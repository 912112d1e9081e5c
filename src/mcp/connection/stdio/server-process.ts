import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { SERVER_ID, signalMarked } from './marked-processes.ts'
import { TailBuffer } from './tail-buffer.ts'

/** What starts a server. */
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
 * Before the server takes this shell's place, a second shell is left in its process group. It holds the reading end
 * of a pipe whose other end only the host has, so it wakes when the host is gone, however it went, and ends the group
 * and whatever else bears the server's mark, itself last. It is nobody's child, lest the server waits for it.
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
/** How long a server is given after its stdin closed, after SIGTERM, after its leader has gone, and to vanish. */
const GRACE_MS = { stdin: 500, term: 700, group: 100, reap: 60 }
const POLL_MS = 5
const MAX_ROUNDS = 20

interface Pipes {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/**
 * A server's process with everything it starts, in a process group of their own and under a mark of their own. None of
 * them outlives `stop()`, the end of the server itself, or the end of the host.
 */
export class ServerProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves once the process is gone and what it wrote has been read. */
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
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    for (const stream of child.stdio) stream?.on('error', ignore)
    const exit = () => ({ code: child.exitCode, signal: child.signalCode })
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve(exit())))
    this.ended = new Promise((resolve) => child.once('close', () => resolve(exit())))
    // What the server started may hold its pipes open: without them there is no end to read.
    this.#exited.then(() => this.#endGroup())
  }

  /** Starts it; rejects when it cannot be started at all. */
  static async start({ command, args, env, cwd }: ServerCommand): Promise<ServerProcess> {
    // Left to the system, the reason would be that there is no shell.
    if (cwd !== undefined && !(await isFolder(cwd)))
      throw new Error(`its folder "${cwd}" does not exist; create it, or set another "cwd"`)
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

  /** The last of what it wrote to stderr. */
  get lastWords(): string {
    return this.#stderr.text()
  }

  /** Asks it to end, then makes it: stdin closed, SIGTERM, SIGKILL. Resolves once the whole group is gone. */
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

  // The guarding shell ignores SIGTERM, so the group, and with it the group's number, is ours until SIGKILL.
  async #clearGroup(): Promise<void> {
    this.#signal('SIGTERM')
    await signalMarked(this.#id, 'SIGTERM')
    await sleep(GRACE_MS.group)
    this.#signal('SIGKILL')
    // Whoever starts processes faster than they are found gets no further than this.
    for (let round = 0; round < MAX_ROUNDS && (await signalMarked(this.#id, 'SIGKILL')) > 0; round++);
    // The system takes a moment over it, and where nobody reaps orphans their entries stay; so this is bounded.
    for (let waited = 0; waited < GRACE_MS.reap && this.#signal(0); waited += POLL_MS) await sleep(POLL_MS)
  }

  async #exitsWithin(graceMs: number): Promise<boolean> {
    const timer = new AbortController()
    const expired = sleep(graceMs, false, { signal: timer.signal }).catch(() => false)
    const hasExited = await Promise.race([this.#exited.then(() => true), expired])
    timer.abort()
    return hasExited
  }

  /** False when nobody is left to receive it. */
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

function ignore(): void {}

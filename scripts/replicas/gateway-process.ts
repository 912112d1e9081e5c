import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const TOKEN = 'a-token-for-all-of-the-replicas'

/** One `toolcrib serve` process on a shared Redis. */
export class GatewayProcess {
  readonly #cli: string
  readonly #folder: string
  readonly #store: string
  readonly #flags: readonly string[]
  #child: ChildProcess | undefined
  #isStopping = false
  url = ''
  /** How often it was killed. */
  kills = 0
  /** From the moment in which it is killed until it runs again. */
  isDying = false

  constructor({
    cli,
    folder,
    store,
    port = 0,
    flags = [],
  }: {
    readonly cli: string
    readonly folder: string
    readonly store: string
    /** The same after each restart; 0 takes a free one each time. */
    readonly port?: number
    /** More flags of `toolcrib serve`. */
    readonly flags?: readonly string[]
  }) {
    this.#cli = cli
    this.#folder = folder
    this.#store = store
    this.#flags = ['--port', String(port), ...flags]
  }

  /** Also for a while after it was asked to stop: until it was seen that its `/readyz` says so, as a proxy looks at it. */
  get takesRequests(): boolean {
    return this.#child !== undefined && !hasEnded(this.#child) && !this.#isStopping
  }

  async start(): Promise<void> {
    const args = [this.#cli, 'serve', '--json', '--token', TOKEN, '--store', this.#store, ...this.#flags]
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: { ...process.env, HOME: this.#folder, XDG_RUNTIME_DIR: this.#folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    const announced = new Promise<string>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        output += `${line}\n`
        if (line.startsWith('{"url"')) resolve(JSON.parse(line).url)
      })
    })
    const failed = once(child, 'close').then(([code]) => {
      throw new Error(`a gateway ended with ${code}: ${output}`)
    })
    failed.catch(() => {})
    try {
      this.url = await Promise.race([announced, failed, tooLate('a gateway has not started')])
    } catch (error) {
      // Nobody else knows of it.
      child.kill('SIGKILL')
      throw error
    }
    this.#isStopping = false
    this.isDying = false
    this.#child = child
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name)
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    this.kills++
    this.isDying = true
    await this.#end('SIGKILL')
  }

  /** SIGTERM, as a rolling restart does it; resolves with the exit code. */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM')
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child
    if (!child) return null
    if (hasEnded(child)) {
      this.#child = undefined
      throw new Error(`a gateway ended by itself, with ${child.exitCode ?? child.signalCode}`)
    }
    const ended = once(child, 'exit')
    child.kill(signal)
    if (signal === 'SIGTERM') void this.#seeStopping()
    const [code] = await Promise.race([ended, tooLate(`a gateway has not ended after ${signal}`)])
    this.#child = undefined
    return code
  }

  async #seeStopping(): Promise<void> {
    for (let isReady = true; isReady; ) {
      await new Promise((resolve) => void setTimeout(resolve, LOOK_MS))
      isReady = await fetch(new URL('/readyz', this.url)).then(
        ({ ok }) => ok,
        () => false,
      )
    }
    this.#isStopping = true
  }
}

/** How often a gateway that was asked to stop is looked at. */
const LOOK_MS = 200

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Longer than anything takes on a busy machine: what hangs must say so. */
const LIMIT_MS = 60_000

function tooLate(what: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(`${what} within ${LIMIT_MS} ms`)), LIMIT_MS).unref()
  })
}

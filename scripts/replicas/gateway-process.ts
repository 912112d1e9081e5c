import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const TOKEN = 'a-token-for-all-of-the-replicas'

/** One `toolcrib serve` process on a shared Redis. */
export class GatewayProcess {
  readonly #cli: string
  readonly #folder: string
  readonly #store: string
  #child: ChildProcess | undefined
  url = ''
  /** How often it was killed. */
  kills = 0

  constructor({
    cli,
    folder,
    store,
  }: { readonly cli: string; readonly folder: string; readonly store: string }) {
    this.#cli = cli
    this.#folder = folder
    this.#store = store
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  async start(): Promise<void> {
    const args = [this.#cli, 'serve', '--port', '0', '--json', '--token', TOKEN, '--store', this.#store]
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: { ...process.env, HOME: this.#folder, XDG_RUNTIME_DIR: this.#folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`a gateway ended with ${code}`)
    })
    failed.catch(() => {})
    const line = once(createInterface({ input: child.stdout }), 'line')
    const [text] = await Promise.race([line, failed])
    this.url = JSON.parse(text).url
    this.#child = child
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name)
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    this.kills++
    await this.#end('SIGKILL')
  }

  /** SIGTERM, as a rolling restart does it; resolves with the exit code. */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM')
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child
    this.#child = undefined
    if (!child) return null
    child.kill(signal)
    const [code] = await once(child, 'exit')
    return code
  }
}

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ScriptLimits } from './limits.ts'
import { withoutTypes } from './without-types.ts'

/** What a script says: a call with its number and path, or with number 0 what it prints, returns or throws. */
export type Said = readonly [number: number, what: string, text: string]

/** What a call returns to the script: JSON, a text that may be JSON, or the JSON of a failure. */
export interface Given {
  readonly kind: 'json' | 'text' | 'failure'
  readonly text: string
}

/** The result of the call with this number. */
export type Settled = readonly [number: number, kind: Given['kind'], text: string]

/** What a script has used of its limits. */
export interface Used {
  readonly cpuMs: number
  readonly calls: number
  readonly printedChars: number
}

/** What ended a script before its end: a limit, the machine, or an error of its own, such as its syntax. */
export type Over =
  | { readonly limit: 'cpu' | 'machine' }
  | { readonly name: string; readonly message: string; readonly line?: string }

/** What happened until the script waited again. */
export interface Step {
  readonly said: readonly Said[]
  readonly over?: Over
  readonly used: Used
}

/** The whole machine as bytes, and what it takes to continue it. */
export interface MachineImage {
  readonly image: Uint8Array
  readonly token: number
}

export const NOTHING_USED: Used = { cpuMs: 0, calls: 0, printedChars: 0 }

/** Long loops inside native functions ignore the machine's own limit: then the thread is ended. */
const OVERTIME_MS = 500

const IMAGE_MS = 10_000

const WARM_AFTER_MS = 20

/** One worker thread with one machine. It runs one script: `start` or `restore`, then `settle` until the end. */
export class Sandbox {
  readonly #worker: Worker
  #heard: ((message: object) => void) | undefined
  readonly #ready: Promise<void>
  #cpuMs = 0
  #used = NOTHING_USED
  #isEnded = false

  constructor(wasm: WebAssembly.Module, memoryMb: number) {
    this.#worker = new Worker(new URL('../worker/sandbox.js', import.meta.url), {
      workerData: { wasm, memoryBytes: memoryMb * 1024 * 1024 },
      // Deep recursion must end in the machine, not on the stack of the thread.
      resourceLimits: { stackSizeMb: 16 },
      env: {},
      // What this process was started with may not fit a thread.
      execArgv: [],
      stdin: false,
    })
    this.#ready = new Promise((resolve) => {
      this.#worker.once('message', () => resolve())
      this.#worker.once('exit', () => resolve())
    })
    this.#worker.on('message', (message: object) => this.#hear(message))
    this.#worker.on('error', () => this.#hear({ failed: true }))
    this.#worker.on('exit', () => this.#hear({ failed: true }))
    // A spare one keeps no process alive.
    this.#worker.unref()
  }

  start(code: string, limits: ScriptLimits, now: number): Promise<Step> {
    this.#cpuMs = limits.cpuMs
    return this.#step({ code, limits, now, used: NOTHING_USED })
  }

  restore({ image, token }: MachineImage, limits: ScriptLimits, now: number, used: Used): Promise<Step> {
    this.#cpuMs = limits.cpuMs
    this.#used = used
    return this.#step({ image, token, limits, now, used }, [image.buffer as ArrayBuffer])
  }

  settle(settle: readonly Settled[]): Promise<Step> {
    return this.#step({ settle })
  }

  /** The machine as it is now. Only between two steps. */
  async image(): Promise<MachineImage> {
    const made = await this.#send({ snapshot: true }, IMAGE_MS)
    if (!('image' in made)) throw new Error('the script ended while it was stored')
    return made as MachineImage
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#worker.terminate()
  }

  async #step(message: object, moved: readonly ArrayBuffer[] = []): Promise<Step> {
    const limitMs = Math.max(this.#cpuMs - this.#used.cpuMs, 0) + OVERTIME_MS
    const answer = await this.#send(message, limitMs, moved)
    if (!('said' in answer))
      return { said: [], used: this.#used, over: { limit: 'isLate' in answer ? 'cpu' : 'machine' } }
    const step = answer as Step
    this.#used = step.used
    return step
  }

  /** Sends a message and waits for its answer; a worker that does not answer in time is ended. */
  async #send(message: object, limitMs: number, moved: readonly ArrayBuffer[] = []): Promise<object> {
    this.#worker.ref()
    await this.#ready
    if (this.#isEnded) return { failed: true }
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        void this.end()
        this.#heard = undefined
        resolve({ isLate: true })
      }, limitMs)
      this.#heard = (answer) => {
        clearTimeout(late)
        this.#heard = undefined
        this.#worker.unref()
        resolve(answer)
      }
      this.#worker.postMessage(message, moved)
    })
  }

  #hear(message: object): void {
    if ('failed' in message) this.#isEnded = true
    if (!('ready' in message)) this.#heard?.(message)
  }
}

/** A sandbox whose script runs. */
export interface StartedSandbox {
  readonly sandbox: Sandbox
  readonly first: Step
}

/** Makes sandboxes, and keeps a spare one warm: a thread takes longer to start than most scripts take to run. */
export class Sandboxes {
  readonly #memoryMb: number
  #wasm: Promise<{ readonly module: WebAssembly.Module; readonly digest: string }> | undefined
  #spare: Sandbox | undefined
  #warming: NodeJS.Timeout | undefined

  constructor(memoryMb: number) {
    this.#memoryMb = memoryMb
  }

  /** Identifies the machine: an image fits no other. */
  async digest(): Promise<string> {
    return (await this.#compiled()).digest
  }

  async take(): Promise<Sandbox> {
    const { module } = await this.#compiled()
    const taken = this.#spare ?? new Sandbox(module, this.#memoryMb)
    this.#spare = undefined
    // To start a thread holds up this one: most scripts have ended by then.
    clearTimeout(this.#warming)
    this.#warming = setTimeout(() => {
      this.#spare ??= new Sandbox(module, this.#memoryMb)
    }, WARM_AFTER_MS).unref()
    return taken
  }

  /** Starts a script, in JavaScript or TypeScript. */
  async open(source: string, limits: ScriptLimits, now: number): Promise<StartedSandbox> {
    const sandbox = await this.take()
    const first = await sandbox.start(source, limits, now)
    if (!isSyntaxError(first)) return { sandbox, first }
    await sandbox.end()
    const plain = (await withoutTypes(source)) ?? source
    const other = await this.take()
    return { sandbox: other, first: await other.start(plain, limits, now) }
  }

  async close(): Promise<void> {
    clearTimeout(this.#warming)
    await this.#spare?.end()
    this.#spare = undefined
  }

  #compiled() {
    this.#wasm ??= compile()
    return this.#wasm
  }
}

async function compile() {
  const bytes = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const [module, hash] = await Promise.all([
    WebAssembly.compile(bytes),
    crypto.subtle.digest('SHA-256', bytes),
  ])
  return { module, digest: Buffer.from(hash).toString('hex') }
}

function isSyntaxError({ over }: Step): boolean {
  return over !== undefined && 'name' in over && over.name === 'SyntaxError'
}

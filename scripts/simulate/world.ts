import nodeCrypto, { createHash } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** What went wrong, in which seed. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** A process of the simulated world. */
export interface SimProcess {
  readonly isAlive: boolean
  /** How likely each of its messages is to be lost, with its connection. */
  readonly breaks: number
  /** Called before each thing that it does to the world outside: it may be killed between any two of them. */
  act(): void
}

interface Timer {
  readonly at: number
  readonly order: number
  readonly fire: () => void
}

const REAL = {
  setImmediate,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  now: Date.now,
  elapsed: performance.now,
  random: Math.random,
  randomUUID: crypto.randomUUID.bind(crypto),
  nodeRandomUUID: nodeCrypto.randomUUID,
  randomBytes: nodeCrypto.randomBytes,
}

/**
 * A world of its own: one seed decides every delay, every choice and every random number, and time passes only from one
 * event to the next. The platform's timers, clock and random numbers are replaced while it runs, so that code that was
 * not given others uses these too.
 */
export class World {
  readonly trace: string[] = []
  readonly #timers = new Map<object, Timer>()
  #random: number
  #now = 1_700_000_000_000
  #order = 0
  #ids = 0
  #atSteps: { readonly step: number; readonly fire: () => void }[] = []
  steps = 0

  constructor(seed: number) {
    this.#random = (seed * 2_654_435_761 + 1) >>> 0 || 1
    for (let warmUp = 0; warmUp < 10; warmUp++) this.random()
  }

  get now(): number {
    return this.#now
  }

  /** A number from 0 to 1. */
  random(): number {
    // xorshift32
    let x = this.#random
    x ^= x << 13
    x >>>= 0
    x ^= x >>> 17
    x ^= x << 5
    x >>>= 0
    this.#random = x
    return x / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  /** A whole number from 1 to `most`. */
  upTo(most: number): number {
    return 1 + Math.floor(this.random() * most)
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.random() * items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }

  /** How long a message takes: mostly a moment, sometimes long enough to be overtaken by many others. */
  delay(): number {
    return this.chance(0.05) ? this.random() * 400 : this.random() * 4
  }

  newId(): string {
    this.#ids++
    return `id-${this.#ids.toString(36).padStart(10, '0')}${Math.floor(this.random() * 1e6).toString(36)}`
  }

  schedule(delayMs: number, fire: () => void): () => void {
    const key = {}
    this.#timers.set(key, { at: this.#now + Math.max(0, Number(delayMs) || 0), order: ++this.#order, fire })
    return () => void this.#timers.delete(key)
  }

  /** Calls `fire` after so many events, between any two of which a process may be killed. */
  inSteps(count: number, fire: () => void): void {
    this.#atSteps.push({ step: this.steps + count, fire })
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(ms, resolve))
  }

  note(text: string): void {
    this.trace.push(`${(this.#now - 1_700_000_000_000).toFixed(1).padStart(9)} ${text}`)
  }

  /** Runs events in their order until `isDone`, or nothing is left; `afterEach` runs after every one. */
  async run(isDone: () => boolean, afterEach: () => void): Promise<void> {
    await settle()
    while (!isDone()) {
      const next = this.#next()
      if (!next) return
      const [key, { at, fire }] = next
      this.#timers.delete(key)
      this.#now = Math.max(this.#now, at)
      this.steps++
      fire()
      await settle()
      for (const due of this.#atSteps.filter(({ step }) => step <= this.steps)) due.fire()
      this.#atSteps = this.#atSteps.filter(({ step }) => step > this.steps)
      afterEach()
    }
  }

  install(): void {
    const timeout = (fire: () => void, delayMs = 0, ...args: unknown[]) => {
      const stop = this.schedule(delayMs, () => Reflect.apply(fire, undefined, args))
      return { stop, ref: () => {}, unref: () => {}, hasRef: () => false, [Symbol.toPrimitive]: () => 1 }
    }
    const clear = (timer: { stop?: () => void } | undefined) => timer?.stop?.()
    Object.assign(globalThis, {
      setTimeout: timeout,
      clearTimeout: clear,
      setInterval: () => ({ unref: () => {}, stop: () => {} }),
      clearInterval: clear,
    })
    Date.now = () => this.now
    // Long work pauses by this clock.
    performance.now = () => this.now
    Math.random = () => this.random()
    const randomUUID = () => uuidFrom(this)
    const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => this.upTo(256) - 1))
    Object.defineProperty(crypto, 'randomUUID', { value: randomUUID, configurable: true })
    Object.assign(nodeCrypto, { randomUUID, randomBytes })
    syncBuiltinESMExports()
    // The real one works on a thread, and takes real time.
    const digest = async (_name: string, bytes: Uint8Array) =>
      new Uint8Array(createHash('sha256').update(bytes).digest()).buffer
    Object.defineProperty(crypto.subtle, 'digest', { value: digest, configurable: true })
  }

  uninstall(): void {
    const { setTimeout, clearTimeout, setInterval, clearInterval, now, elapsed, random, randomUUID } = REAL
    const { nodeRandomUUID, randomBytes } = REAL
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval })
    Date.now = now
    performance.now = elapsed
    Math.random = random
    Object.defineProperty(crypto, 'randomUUID', { value: randomUUID, configurable: true })
    Object.assign(nodeCrypto, { randomUUID: nodeRandomUUID, randomBytes })
    syncBuiltinESMExports()
    Reflect.deleteProperty(crypto.subtle, 'digest')
  }

  #next(): [object, Timer] | undefined {
    let first: [object, Timer] | undefined
    for (const entry of this.#timers) {
      const [, { at, order }] = entry
      if (!first || at < first[1].at || (at === first[1].at && order < first[1].order)) first = entry
    }
    return first
  }
}

/** More than the longest chain of work that goes by way of the event loop, such as the reading of a body. */
const TURNS = 3

/** Lets everything happen that waits for no timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => REAL.setImmediate(resolve))
}

function uuidFrom(world: World): string {
  const hex = () =>
    Math.floor(world.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const text = hex() + hex() + hex() + hex()
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-a${text.slice(17, 20)}-${text.slice(20, 32)}`
}

import { setMaxListeners } from 'node:events'
import type { JsonValue, ToolResult } from '@toolcrib/core'
import {
  BatchAbort,
  canonicalJson,
  describeError,
  Slots,
  sharedSlices,
  withoutHiding,
} from '@toolcrib/core/internal'
import { DENIED, type Ending, endingOf, plusOne, saidEnding, WAITS_FOR_NOTHING, withDry } from './answer.ts'
import { type Checkpoint, type JournalCall, Replaced, sha256, type Told } from './journal.ts'
import { failureOf, givenBy, lookUp } from './result-json.ts'
import type { RunOutcome, RunParts } from './run-outcome.ts'
import type { Given, Said, Settled, Step } from './sandbox.ts'

/**
 * One script from its start, or from an image, until it ends or waits for nothing but a person. One loop gives it the
 * results of its calls; the calls themselves run side by side.
 */
export class ScriptRun {
  readonly #parts: RunParts
  readonly #slots: Slots
  readonly #abort = new AbortController()
  readonly #cancelled = new BatchAbort(this.#abort.signal)
  /** What the machine waits for: calls in flight, held, or decided. */
  readonly #calls: Map<number, JournalCall>
  readonly #inFlight = new Set<number>()
  /** Writes that wait for their turn: each is recorded before it runs, so that a crash leaves at most one unclear. */
  readonly #writes: [n: number, call: JournalCall][] = []
  #isWriting = false
  /** Resolves once the store knows that the script writes. */
  #begun: Promise<void> | undefined
  #settled: Settled[] = []
  #wake: (() => void) | undefined
  #image: string
  #told: Told
  #used: Checkpoint['used']
  readonly #startedAt = performance.now()
  #ending: Ending | undefined
  #problem: unknown

  constructor(parts: RunParts) {
    this.#parts = parts
    // One for each call that runs.
    setMaxListeners(0, this.#abort.signal)
    this.#slots = new Slots(parts.limits.maxParallel)
    this.#calls = new Map(Object.entries(parts.calls).map(([n, call]) => [Number(n), call]))
    this.#image = parts.image
    this.#told = parts.told
    this.#used = parts.used
  }

  async toEnd(first: Step): Promise<RunOutcome> {
    try {
      return await this.#steps(first)
    } catch (problem) {
      const isUnclear = [...this.#calls.values()].some(({ state }) => state === 'started')
      return { kind: 'broken', problem, told: this.#told, isUnclear }
    }
  }

  async #steps(first: Step): Promise<RunOutcome> {
    const { sandbox, host, limits, recorder } = this.#parts
    const wall = setTimeout(
      () => this.#stop(`the script did not end within ${limits.wallMs} ms`),
      Math.max(limits.wallMs - this.#used.wallMs, 1),
    )
    const cancel = () => this.#stop('the script was cancelled')
    host.signal.addEventListener('abort', cancel, { once: true })
    const lease = setInterval(() => void this.#renew(), limits.leaseMs / 3)
    try {
      if (host.signal.aborted) cancel()
      this.#continueCalls()
      let step = first
      for (;;) {
        this.#hear(step)
        if (this.#problem !== undefined) throw this.#problem
        if (this.#ending?.kind === 'limit') return this.#ended(this.#ending)
        // What has settled goes first: an image without it would lose it.
        if (this.#mayWrite && this.#settled.length === 0) await this.#beginWrite()
        if (this.#inFlight.size === 0 && this.#settled.length === 0) return await this.#rest()
        await this.#nextSettled()
        if (this.#settled.length === 0) step = { said: [], used: this.#used }
        else {
          const results = this.#settled.splice(0)
          recorder?.settled(results)
          step = await sandbox.settle(results)
        }
      }
    } finally {
      clearTimeout(wall)
      clearInterval(lease)
      host.signal.removeEventListener('abort', cancel)
      this.#abort.abort()
      this.#cancelled.close()
      // Its thread takes longer to end than most scripts to run.
      void sandbox.end()
    }
  }

  get #mayWrite(): boolean {
    return this.#writes.length > 0 && !this.#isWriting
  }

  #hear({ said, over, used }: Step): void {
    this.#used = { ...this.#used, ...used }
    const prints = said.flatMap(([n, what, text]) =>
      n === 0 && what === 'print' ? [withoutHiding(text)] : [],
    )
    if (prints.length > 0) this.#told = { ...this.#told, printed: [...this.#told.printed, ...prints] }
    for (const one of said) this.#hearOne(one)
    if (over !== undefined) this.#ending ??= endingOf(over, this.#parts.limits)
  }

  #hearOne([number, what, text]: Said): void {
    if (number > 0) this.#begin(number, what, text)
    else if (what !== 'print')
      // Data of a server may have contained it as an escape.
      this.#ending ??= saidEnding(what, withoutHiding(text))
  }

  /** After a restore: what the machine waits for is made again, or was decided. */
  #continueCalls(): void {
    for (const [n, call] of this.#calls) {
      if (call.state === 'granted' || call.state === 'open')
        this.#begin(n, call.name, JSON.stringify(call.args))
      if (call.state === 'done' && call.result) this.#settle(n, call.result)
      if (call.state === 'denied') this.#fail(n, call.name, DENIED)
    }
  }

  /** Nothing is in flight: the script has ended, waits for a person, or for nothing. */
  async #rest(): Promise<RunOutcome> {
    const held = [...this.#calls.values()].filter(({ state }) => state === 'held')
    if (this.#ending !== undefined) return this.#ended(this.#ending)
    if (held.length === 0) return this.#ended({ kind: 'threw', error: WAITS_FOR_NOTHING })
    await this.#store('paused')
    return { kind: 'paused' }
  }

  #ended(ending: Ending): RunOutcome {
    const notRun = [...this.#calls.values()].flatMap(({ name, state }) => (state === 'held' ? [name] : []))
    const isRecorded = this.#parts.epoch > 0 || this.#begun !== undefined
    return {
      kind: 'ended',
      ending,
      told: this.#told,
      printedChars: this.#used.printedChars,
      notRun,
      isRecorded,
    }
  }

  /** A call of the script. Nothing here throws: what goes wrong stops the script. */
  #begin(n: number, path: string, json: string): void {
    this.#inFlight.add(n)
    this.#parts.recorder?.asked(n, path, json)
    void this.#inSlot(() => this.#perform(n, path, json))
  }

  async #inSlot(work: () => Promise<void>): Promise<void> {
    const leave = await this.#slots.enter(this.#cancelled)
    try {
      // A thousand calls that answer at once must not hold up the process.
      if (sharedSlices.isOver) await sharedSlices.pause()
      if (leave !== undefined) await work()
    } catch (problem) {
      this.#problem ??= problem
    } finally {
      leave?.()
      this.#wake?.()
    }
  }

  async #perform(n: number, path: string, json: string): Promise<void> {
    const { host, epoch } = this.#parts
    // Reading many large arguments at once would keep everything else waiting.
    if (json.length > SMALL_CHARS) await sharedSlices.pause()
    const args = JSON.parse(json) as JsonValue
    if (path === 'search' || path === 'describe') {
      this.#calls.set(n, { name: path, args, digest: '', fingerprint: '', state: 'open' })
      try {
        return this.#settle(n, { kind: 'json', text: await lookUp(host, path, args) })
      } catch (problem) {
        return this.#fail(n, path, { ok: false, code: 'input_invalid', error: describeError(problem) })
      }
    }
    const tool = host.resolve(path)
    if ('problem' in tool)
      return this.#fail(n, path, { ok: false, code: 'not_available', error: tool.problem })
    const { name, fingerprint } = tool
    const digest = sha256(`${name} ${canonicalJson(args)}`)
    const known = this.#calls.get(n)
    const isGranted =
      known?.state === 'granted' && known.digest === digest && known.fingerprint === fingerprint
    const call = { name, args, digest, fingerprint, state: isGranted ? 'granted' : 'open' } as const
    this.#calls.set(n, call)
    const isHeld = !isGranted && host.asks(name)
    if (tool.isReadOnly || isHeld) return this.#run(n, call)
    if (epoch === 0) {
      if (!host.isTransient) await this.#noteBegun()
      if (host.isDryRun) this.#told = withDry(this.#told, `${name} ${json.slice(0, MAX_FAILURE)}`)
      return this.#run(n, call)
    }
    this.#writes.push([n, call])
    this.#wake?.()
  }

  /** Records the next write as started, with the machine as it is now, and runs it. */
  async #beginWrite(): Promise<void> {
    const [n, call] = this.#writes.shift() as [number, JournalCall]
    this.#isWriting = true
    const started = { ...call, state: 'started' } as const
    await this.#store('running', { [n]: started })
    this.#calls.set(n, started)
    void this.#inSlot(async () => {
      await this.#run(n, call)
      this.#isWriting = false
    })
  }

  async #run(n: number, call: JournalCall): Promise<void> {
    const { host, toolCallId, limits, journal, run, epoch } = this.#parts
    const { name, args } = call
    const options = {
      isGranted: call.state === 'granted',
      maxChars: limits.resultChars,
      signal: this.#abort.signal,
    }
    const outcome = await host.call({ toolCallId: `${toolCallId}.${n}`, name, args }, options)
    if (outcome.isHeld) {
      this.#calls.set(n, { ...call, state: 'held' })
      this.#inFlight.delete(n)
      this.#wake?.()
      return
    }
    const { result } = outcome
    this.#told = { ...this.#told, made: plusOne(this.#told.made, name) }
    const given = givenBy(name, result)
    if (!result.ok) this.#noteFailure(name, result)
    else if (result.costUsd) this.#told = { ...this.#told, costUsd: this.#told.costUsd + result.costUsd }
    if (this.#calls.get(n)?.state === 'started')
      await journal.done(run, epoch, n, { ...call, state: 'done', result: given })
    this.#settle(n, given)
  }

  #fail(n: number, name: string, result: ToolResult & { readonly ok: false }): void {
    this.#noteFailure(name, result)
    this.#settle(n, failureOf(name, result))
  }

  #noteFailure(name: string, { code, error }: ToolResult & { readonly ok: false }): void {
    const text = `${name}: ${code}: ${error.slice(0, MAX_FAILURE)}`
    this.#told = { ...this.#told, failed: plusOne(this.#told.failed, text) }
  }

  #settle(n: number, { kind, text }: Given): void {
    this.#inFlight.delete(n)
    this.#calls.delete(n)
    this.#settled.push([n, kind, text])
    this.#wake?.()
  }

  /** Waits until there is a result, a write, or a reason to stop. */
  async #nextSettled(): Promise<void> {
    const isOver = this.#ending?.kind === 'limit' || this.#problem !== undefined
    if (isOver || this.#settled.length > 0 || this.#mayWrite) return
    await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = undefined
  }

  #stop(reason: string): void {
    this.#ending = { kind: 'limit', reason }
    this.#abort.abort()
    this.#wake?.()
  }

  async #store(state: 'paused' | 'running', changed: Checkpoint['calls'] = {}): Promise<void> {
    const { sandbox, journal, run, epoch } = this.#parts
    if (epoch === 0) await this.#noteBegun()
    // All that the machine waits for: after a restore, nobody else would make these calls.
    const calls = { ...Object.fromEntries(this.#calls), ...changed }
    const image = await sandbox.image()
    this.#image = await journal.store(run, image, this.#checkpoint(state, calls), this.#image)
  }

  #noteBegun(): Promise<void> {
    const { journal, run, limits, earlier } = this.#parts
    const leaseMs = limits.wallMs + limits.leaseMs
    this.#begun ??= journal.begin(run, this.#checkpoint('running', {}), { earlier, leaseMs })
    return this.#begun
  }

  #checkpoint(state: Checkpoint['state'], calls: Checkpoint['calls']): Checkpoint {
    const { bound, source, now, epoch } = this.#parts
    const wallMs = this.#parts.used.wallMs + performance.now() - this.#startedAt
    return { state, epoch, bound, source, now, calls, told: this.#told, used: { ...this.#used, wallMs } }
  }

  async #renew(): Promise<void> {
    const { journal, run, epoch } = this.#parts
    if (epoch === 0) return
    try {
      await journal.renew(run, epoch)
    } catch (problem) {
      // While the store is away, the next attempt may succeed: before a write, the owner is checked again.
      if (!(problem instanceof Replaced)) return
      this.#problem ??= problem
      this.#wake?.()
    }
  }
}

const MAX_FAILURE = 200
const SMALL_CHARS = 10_000

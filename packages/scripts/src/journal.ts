import { createHash, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { JsonValue, Store } from '@toolcrib/core'
import type { Given, MachineImage, Used } from './sandbox.ts'
import { openImage, sealImage } from './seal.ts'

/**
 * open: the image waits for it, and it has not run; held: it waits for a person; started: it may have run; done: it has.
 */
export type CallState = 'open' | 'held' | 'granted' | 'denied' | 'started' | 'done'

/** A call that the image of a script waits for. */
export interface JournalCall {
  readonly name: string
  readonly args: JsonValue
  /** Of the name and the arguments. */
  readonly digest: string
  /** Of the tool's definition. */
  readonly fingerprint: string
  readonly state: CallState
  /** What the script gets, once it is done. */
  readonly result?: Given
}

export type Calls = Readonly<Record<string, JournalCall>>

/** What the answer of a script says besides its result. It survives a pause. */
export interface Told {
  readonly printed: readonly string[]
  /** How often each tool was called. */
  readonly made: Readonly<Record<string, number>>
  /** How often each failure occurred. */
  readonly failed: Readonly<Record<string, number>>
  /** In a dry run, the calls that did not run. */
  readonly dry?: readonly string[]
  /** What its calls cost. */
  readonly costUsd: number
}

export type RunState = 'paused' | 'running' | 'done' | 'failed' | 'unclear' | 'expired'

/** One paused script, as all processes see it. Changed by `update` only. */
export interface RunRecord {
  readonly state: RunState
  /** Counts its owners: a process that lost it changes nothing any more. */
  readonly epoch: number
  readonly leaseUntil: number
  /** The name of its image: each image has its own, so that a process that lost the script overwrites no newer one. */
  readonly image: string
  readonly token: number
  readonly bound: { readonly session: string; readonly script: string; readonly machine: string }
  readonly source: string
  /** When the script began: its clock stands still. */
  readonly now: number
  readonly calls: Calls
  readonly told: Told
  readonly used: Used & { readonly wallMs: number }
  readonly expiresAt: number
  /** How it ended, and when. */
  readonly answer?: string
  readonly code?: string
  readonly endedAt?: number
}

/** What an owner stores with an image. */
export type Checkpoint = Pick<
  RunRecord,
  'state' | 'epoch' | 'bound' | 'source' | 'now' | 'calls' | 'told' | 'used'
>

/** What a script begins in place of, and how long another process waits for its end. */
interface Beginning {
  readonly earlier: string | undefined
  readonly leaseMs: number
}

type Bound = Pick<RunRecord['bound'], 'session' | 'script'>

export interface JournalOptions {
  readonly store: Store
  /** Keys of 32 bytes: the first one seals, all of them open. */
  readonly keys: readonly Uint8Array[]
  readonly leaseMs: number
  readonly ttlMs: number
  readonly now: () => number
}

/** Thrown when another process has taken over the script, or its record is gone. */
export class Replaced extends Error {}

/** The records and images of paused scripts in a store. */
export class Journal {
  readonly #options: JournalOptions

  constructor(options: JournalOptions) {
    this.#options = options
  }

  async read(run: string): Promise<RunRecord | undefined> {
    return (await this.#options.store.get(recordKey(run))) as unknown as RunRecord | undefined
  }

  /** The newest run of a session with this source, if it wrote or was paused. */
  async runOf(bound: Bound): Promise<string | undefined> {
    const run = await this.#options.store.get(sourceKey(bound))
    return typeof run === 'string' ? run : undefined
  }

  /**
   * Notes that a script is about to make its first write, or to pause, in place of an earlier run of the same source: nobody
   * else runs it again. Without an image: if the process dies before the first pause, it is unknown what was done.
   */
  async begin(run: string, checkpoint: Checkpoint, { earlier, leaseMs }: Beginning): Promise<void> {
    const { store, now, ttlMs } = this.#options
    const times = { leaseUntil: now() + leaseMs, expiresAt: now() + ttlMs }
    // First, since another process finds it by its name.
    await this.#change(run, 0, () => ({ ...checkpoint, image: '', token: 0, ...times }))
    const replace = (value: unknown) => {
      if (value !== earlier && value !== run) throw new Replaced('another process runs this script')
      return run
    }
    await store.update(sourceKey(checkpoint.bound), replace, { ttlMs: this.#keptMs })
  }

  /** The runs of a session that are not over. */
  async runsOf(session: string): Promise<readonly { readonly run: string; readonly record: RunRecord }[]> {
    const listed = await this.#options.store.get(listKey(session))
    const runs = Array.isArray(listed) ? listed.filter((run) => typeof run === 'string') : []
    const records = await Promise.all(runs.map(async (run) => ({ run, record: await this.read(run) })))
    return records.flatMap(({ run, record }) => (record && !isOver(record) ? [{ run, record }] : []))
  }

  /** Stores the image of a script that pauses or is about to write, and what it waits for. Returns the image's name. */
  async store(run: string, machine: MachineImage, checkpoint: Checkpoint, before: string): Promise<string> {
    const { store, keys, leaseMs, ttlMs, now } = this.#options
    const image = randomBytes(8).toString('hex')
    const record: RunRecord = {
      ...checkpoint,
      image,
      token: machine.token,
      leaseUntil: now() + leaseMs,
      expiresAt: now() + ttlMs,
    }
    const [key] = keys as readonly [Uint8Array]
    const sealed = await sealImage(machine.image, key, boundText(run, record))
    await store.set(imageKey(run, image), sealed, { ttlMs: this.#keptMs })
    await this.#change(run, checkpoint.epoch, (current) => {
      return { ...record, calls: { ...record.calls, ...decidedOf(current, record.calls) } }
    })
    if (before === '') await this.#list(checkpoint.bound.session, run)
    else await store.delete(imageKey(run, before))
    return image
  }

  /** The image of a script, if this process has its key and nobody changed it. */
  async image(run: string, record: RunRecord): Promise<MachineImage | undefined> {
    const sealed = await this.#options.store.get(imageKey(run, record.image))
    if (!(sealed instanceof Uint8Array)) return undefined
    const image = await openImage(sealed, this.#options.keys, boundText(run, record))
    return image && { image, token: record.token }
  }

  /** Notes what becomes of calls that wait for a person. */
  async decide(run: string, states: Readonly<Record<string, CallState>>): Promise<void> {
    await this.#change(run, undefined, (record) => {
      const calls = Object.entries(record?.calls ?? {}).map(([n, call]): [string, JournalCall] => [
        n,
        call.state === 'held' ? { ...call, state: states[n] ?? 'held' } : call,
      ])
      return record && { ...record, calls: Object.fromEntries(calls) }
    })
  }

  /**
   * Makes this process the owner of a paused script, as it was read. Undefined if another one has it. A script whose owner
   * died while a call ran becomes `unclear`: it is not known whether that call had its effect.
   */
  async claim(
    run: string,
    read: RunRecord,
    unclear: (record: RunRecord) => string,
  ): Promise<RunRecord | undefined> {
    const { leaseMs, now } = this.#options
    let claimed: RunRecord | undefined
    await this.#change(run, undefined, (record) => {
      claimed = undefined
      if (record === undefined || isOver(record) || record.image !== read.image) return record
      if (record.state === 'running' && record.leaseUntil > now()) return record
      const epoch = record.epoch + 1
      if (record.image === '' || Object.values(record.calls).some(({ state }) => state === 'started'))
        return { ...record, state: 'unclear', epoch, answer: unclear(record), endedAt: now() }
      claimed = { ...record, state: 'running', epoch, leaseUntil: now() + leaseMs }
      return claimed
    })
    return claimed
  }

  /** Notes the result of a write, and extends the lease. Tries for as long as the lease lasts: a lost result is unclear. */
  async done(run: string, epoch: number, n: number, call: JournalCall): Promise<void> {
    const { leaseMs, now } = this.#options
    const until = now() + leaseMs
    for (let waitMs = FIRST_RETRY_MS; ; waitMs *= 2) {
      try {
        return await this.#change(run, epoch, (record) => {
          return record && { ...record, leaseUntil: now() + leaseMs, calls: { ...record.calls, [n]: call } }
        })
      } catch (problem) {
        if (problem instanceof Replaced || now() + waitMs > until) throw problem
        await setTimeout(waitMs)
      }
    }
  }

  async renew(run: string, epoch: number): Promise<void> {
    const leaseUntil = this.#options.now() + this.#options.leaseMs
    await this.#change(run, epoch, (record) => record && { ...record, leaseUntil })
  }

  /** Ends a script that waited too long, unless it went on meanwhile. */
  async expire(run: string, answer: string): Promise<void> {
    const { now } = this.#options
    await this.#change(run, undefined, (record) => {
      const isOpen = record?.state === 'paused' && record.expiresAt <= now()
      return isOpen ? { ...record, state: 'expired', answer, endedAt: now() } : record
    })
  }

  async end(
    run: string,
    epoch: number,
    how: Pick<RunRecord, 'state' | 'answer' | 'code' | 'told'>,
  ): Promise<void> {
    let image = ''
    await this.#change(run, epoch, (record) => {
      image = record?.image ?? ''
      return record && { ...record, ...how, endedAt: this.#options.now() }
    })
    if (image !== '') await this.#options.store.delete(imageKey(run, image))
  }

  /** Records outlive their scripts, so that an expired one can say what it did. */
  get #keptMs(): number {
    return 2 * this.#options.ttlMs
  }

  async #change(
    run: string,
    epoch: number | undefined,
    change: (record: RunRecord | undefined) => RunRecord | undefined,
  ): Promise<void> {
    await this.#options.store.update(
      recordKey(run),
      (value) => {
        const record = value as unknown as RunRecord | undefined
        const isNew = record === undefined && epoch === 0
        if (epoch !== undefined && !isNew && record?.epoch !== epoch)
          throw new Replaced('another process continues this script')
        return change(record) as unknown as JsonValue | undefined
      },
      { ttlMs: this.#keptMs },
    )
  }

  async #list(session: string, run: string): Promise<void> {
    const change = (value: unknown) => [...(Array.isArray(value) ? value : []).slice(-MAX_LISTED), run]
    await this.#options.store.update(listKey(session), change, { ttlMs: this.#keptMs })
  }
}

const MAX_LISTED = 99
const FIRST_RETRY_MS = 50

/** What was decided about calls, as they are now, while their script ran on. */
function decidedOf(current: RunRecord | undefined, calls: Calls): Calls {
  const decided = Object.entries(current?.calls ?? {}).filter(([n, { state, digest, fingerprint }]) => {
    const now = calls[n]
    const isSame = now?.digest === digest && now.fingerprint === fingerprint
    return (state === 'granted' || state === 'denied') && now?.state === 'held' && isSame
  })
  return Object.fromEntries(decided)
}

export function isOver({ state }: RunRecord): boolean {
  return state !== 'paused' && state !== 'running'
}

function recordKey(run: string): string {
  return `script:${run}`
}

function imageKey(run: string, image: string): string {
  return `script:${run}:${image}`
}

function sourceKey({ session, script }: Bound): string {
  return `scripts:${sha256(JSON.stringify([session, script]))}`
}

function listKey(session: string): string {
  return `scripts:${session}`
}

/** What an image belongs to; it opens with nothing else. */
function boundText(
  run: string,
  { image, token, bound }: Pick<RunRecord, 'image' | 'token' | 'bound'>,
): string {
  return JSON.stringify([run, image, token, bound.session, bound.script, bound.machine])
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

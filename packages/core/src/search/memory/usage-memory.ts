import {
  anyFunction,
  anyText,
  checkOptions,
  either,
  type OptionRules,
  objectWith,
  oneOf,
  required,
  trueOrFalse,
  wholeNumber,
} from '../../check-options.ts'
import { ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import type { Store, StoredValue } from '../../store/store.ts'
import { type Clock, readClock, type Schedule, scheduleInBackground, within } from '../../time.ts'
import type { Lift, SearchMemory } from '../searcher.ts'
import {
  bytesOf,
  type DecodedEpisode,
  decoded,
  type Episode,
  faded,
  type Lesson,
  learned,
  liftsOf,
  type MemoryLimits,
  readEpisodes,
  writeEpisodes,
} from './episodes.ts'
import { OpenMemories } from './open-memories.ts'

const DAY_MS = 86_400_000

/** What other processes learned is read again after this time. */
const FRESH_MS = 10_000

/** How long a search waits for the store, and how long searches do not ask it after it failed. */
const LOAD_MS = 500
const REST_MS = 30_000

/** How many owners' memories are kept open; others are read again when they are asked for. */
const MAX_OPEN = 1_000
const MAX_OPEN_BYTES = 64 * 1024 * 1024

const MAX_OWNER_CHARS = 300

/** Owners below one. Of further ones nothing is remembered, since it could not be found again to forget it. */
const MAX_OWNERS = 10_000

export interface UsageMemoryOptions {
  /** Where it is kept. */
  readonly store: Store
  /** Whose memory it is: a user or a team. Nothing passes from one owner to another. `user` by default. */
  readonly owner?: string
  /** Keeps the text of requests as well. false by default: only vectors are kept. */
  readonly keepText?: boolean
  /** How many requests are remembered; 500 by default. The weakest are dropped first. */
  readonly maxEpisodes?: number
  /** The time in which a success loses half of its weight; 30 days by default. */
  readonly halfLifeMs?: number
  readonly clock?: Clock
  readonly schedule?: Schedule
}

/** Remembers which tool served which request, and lifts it in searches for similar ones. */
export interface UsageMemory {
  readonly owner: string
  /**
   * The memory of another user or team, in the same store and with the same limits. One whose name begins with this
   * owner and `/` is listed by `owners()`.
   */
  of(owner: string): UsageMemory
  /** The owners below this one of whom something may be remembered, at most 10,000. Rejects with `store-unavailable`. */
  owners(): Promise<readonly string[]>
  /** The part of the memory that belongs to one policy and embedder. */
  under(context: string): ContextMemory
  /** Everything that is remembered now, the strongest first. Rejects with `store-unavailable`. */
  episodes(): Promise<readonly Episode[]>
  /**
   * Forgets a tool, an MCP server, a tool of one server, or everything. Returns how many episodes were forgotten.
   * Rejects with `config-invalid` for an unknown key, for none, and for `all` beside another one.
   */
  forget(what: ForgetOptions): Promise<number>
}

/** What `forget()` forgets. */
export interface ForgetOptions {
  /** The registered name of a tool. */
  readonly tool?: string
  readonly server?: string
  /** Everything of this owner. */
  readonly all?: true
}

/** What past use under one policy says, and how it learns. */
export interface ContextMemory extends SearchMemory {
  lifts(vector: Float32Array): Promise<readonly Lift[]>
  /** Remembers a success. Only whoever runs sessions calls this: no tool or server can. */
  learn(lesson: Omit<Lesson, 'context'>): Promise<void>
}

/**
 * Opens a memory of past use, for `new ToolRegistry({ memory })` or `openSession({ memory })`. A success is a call that
 * was ok, in the same session as a search that returned its tool. What is kept is bounded and fades: a success that is
 * not repeated loses half of its weight in `halfLifeMs`, and also whenever its tool is shown first for a similar request
 * and another one is used. A lift is limited, only the most similar request of a tool counts, and at most three tools
 * are lifted, each less than the one before, so that popular tools do not bury others.
 *
 * Only the vector of a request without its values is kept, unless `keepText` is set. The words of a short request can
 * be guessed from its vector: protect the store as you would protect the requests.
 */
export function usageMemory(options: UsageMemoryOptions): UsageMemory {
  checkOptions<UsageMemoryOptions>('usageMemory()', options, OPTIONS)
  return new StoredMemory(options, new OpenMemories({ maxOpen: MAX_OPEN, maxBytes: MAX_OPEN_BYTES }))
}

const OPTIONS: OptionRules<UsageMemoryOptions> = {
  store: required(objectWith('get', 'update', 'delete')),
  owner: anyText,
  keepText: trueOrFalse,
  maxEpisodes: wholeNumber({ from: 1, to: 10_000 }),
  // Longer than any timer.
  halfLifeMs: wholeNumber({ from: 1 }),
  clock: either(anyFunction, objectWith('now')),
  schedule: anyFunction,
}

const FORGET_OPTIONS: OptionRules<ForgetOptions> = { tool: anyText, server: anyText, all: oneOf(true) }

class StoredMemory implements UsageMemory {
  readonly owner: string
  readonly #options: UsageMemoryOptions
  readonly #limits: MemoryLimits
  readonly #now: () => number
  readonly #open: OpenMemories<StoredMemory>
  /** The owner that lists this one. */
  readonly #parent: string | undefined
  #known: readonly DecodedEpisode[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(options: UsageMemoryOptions, open: OpenMemories<StoredMemory>, parent?: string) {
    const { owner = 'user', maxEpisodes = 500, halfLifeMs = 30 * DAY_MS, clock = Date } = options
    if (owner === '' || owner.length > MAX_OWNER_CHARS)
      throw new ToolcribError(
        'config-invalid',
        `the owner of a memory must have 1 to ${MAX_OWNER_CHARS} characters`,
      )
    this.owner = owner
    this.#options = options
    this.#parent = parent
    this.#limits = { maxEpisodes, halfLifeMs }
    this.#now = readClock(clock)
    this.#open = open
    open.used(owner, this)
  }

  of(owner: string): UsageMemory {
    const parent = [this.owner, this.#parent].find((each) => owner.startsWith(`${each}/`))
    return this.#open.get(owner) ?? new StoredMemory({ ...this.#options, owner }, this.#open, parent)
  }

  async owners(): Promise<readonly string[]> {
    return Object.keys(readOwners(await this.#options.store.get(ownersKey(this.owner))))
  }

  release(): void {
    this.#known = []
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  under(context: string): ContextMemory {
    return new MemoryUnderContext(this, context)
  }

  async episodes(): Promise<readonly Episode[]> {
    const stored = readEpisodes(await this.#options.store.get(this.#key), this.#limits)
    return [...faded(stored, this.#limits, this.#now())].sort((a, b) => b.weight - a.weight)
  }

  async forget(what: ForgetOptions): Promise<number> {
    checkOptions<ForgetOptions>('forget()', what, FORGET_OPTIONS)
    const { tool, server, all } = what
    if ((all === true) === (tool !== undefined || server !== undefined))
      throw new ToolcribError('config-invalid', 'forget() takes { tool }, { server }, both, or { all: true }')
    const isForgotten = (episode: Episode) =>
      (tool === undefined || episode.tool === tool) &&
      (server === undefined || episode.source === `mcp:${server}`)
    let forgotten = 0
    await this.#update((episodes) => {
      const kept = episodes.filter((episode) => !isForgotten(episode))
      forgotten = episodes.length - kept.length
      return kept
    })
    return forgotten
  }

  async lifts(vector: Float32Array, context: string): Promise<readonly Lift[]> {
    await this.#refresh()
    this.#open.used(this.owner, this)
    return liftsOf(this.#known, vector, context, this.#limits, this.#now())
  }

  async learn({ text, ...lesson }: Lesson): Promise<void> {
    if (lesson.vector.every((value) => value === 0)) return
    const kept = this.#options.keepText ? { ...lesson, text } : lesson
    const now = this.#now()
    if (this.#parent !== undefined && !(await this.#isListed(this.#parent, now))) return
    await this.#update((episodes) => learned(episodes, kept, this.#limits, now))
  }

  /** Lists this owner below its parent, for as long as its episodes are kept. Writes once a day. */
  async #isListed(parent: string, now: number): Promise<boolean> {
    const ttlMs = this.#ttlMs + DAY_MS
    const stored = await this.#options.store.update(
      ownersKey(parent),
      (current) => {
        const owners = readOwners(current)
        if (now - (owners[this.owner] ?? Number.NEGATIVE_INFINITY) < DAY_MS) return current
        const kept = Object.entries(owners).filter(([, at]) => now - at < ttlMs)
        if (kept.length >= MAX_OWNERS && !Object.hasOwn(owners, this.owner)) return current
        return { version: 1, owners: { ...Object.fromEntries(kept), [this.owner]: now } }
      },
      { ttlMs },
    )
    return Object.hasOwn(readOwners(stored), this.owner)
  }

  /** What nobody uses goes away by itself, once even the strongest episode has faded. */
  get #ttlMs(): number {
    return 6 * this.#limits.halfLifeMs
  }

  async #update(change: (episodes: readonly Episode[]) => readonly Episode[]): Promise<void> {
    const stored = await this.#options.store.update(
      this.#key,
      (current) => {
        const kept = change(readEpisodes(current, this.#limits))
        return kept.length === 0 ? undefined : writeEpisodes(kept)
      },
      { ttlMs: this.#ttlMs },
    )
    this.#keep(stored)
  }

  #keep(stored: StoredValue | undefined): void {
    this.#known = decoded(readEpisodes(stored, this.#limits))
    this.#readAt = this.#now()
    this.#open.used(this.owner, this, bytesOf(this.#known))
  }

  /** Reads what other processes learned. Rejects once when the store fails; searches then go on with what is known. */
  #refresh(): Promise<void> | undefined {
    if (this.#now() - this.#readAt < FRESH_MS) return undefined
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const { store, schedule = scheduleInBackground } = this.#options
    try {
      const stored = await within(LOAD_MS, store.get(this.#key), schedule)
      this.#keep(stored)
    } catch (error) {
      this.#readAt = this.#now() + REST_MS - FRESH_MS
      throw error
    }
  }

  get #key(): string {
    return `usage:${this.owner}`
  }
}

function ownersKey(parent: string): string {
  return `usage-owners:${parent}`
}

/** When each owner was last listed. */
function readOwners(stored: StoredValue | undefined): Readonly<Record<string, number>> {
  const owners: unknown = isRecord(stored) ? stored.owners : undefined
  const entries = Object.entries(isRecord(owners) ? owners : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])))
}

class MemoryUnderContext implements ContextMemory {
  readonly #memory: StoredMemory
  readonly #context: string

  constructor(memory: StoredMemory, context: string) {
    this.#memory = memory
    this.#context = context
  }

  lifts(vector: Float32Array): Promise<readonly Lift[]> {
    return this.#memory.lifts(vector, this.#context)
  }

  learn(lesson: Omit<Lesson, 'context'>): Promise<void> {
    return this.#memory.learn({ ...lesson, context: this.#context })
  }
}

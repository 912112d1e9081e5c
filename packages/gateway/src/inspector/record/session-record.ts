import type { ToolcribEvent } from '@toolcrib/core'
import { isSearchTool } from '@toolcrib/core/internal'
import { addTotals, NO_TOTALS, type Totals } from './activity.ts'
import { beginningOf } from './beginning-of.ts'

/** One thing that happened in a session. */
export interface SessionStep {
  readonly at: number
  readonly turn: number
  readonly kind:
    | 'opened'
    | 'surface'
    | 'search'
    | 'miss'
    | 'activated'
    /** Activated by a call, without a search before it. */
    | 'reached'
    | 'evicted'
    | 'returned'
    | 'call'
    | 'trimmed'
    | 'script'
    /** A script waits for a person. */
    | 'waiting'
    | 'decided'
    | 'script-ended'
    | 'problem'
  /** The query, the tool or the reason. */
  readonly text: string
  readonly names?: readonly string[]
  /** An estimate, unless `isExact`. */
  readonly tokens?: number
  readonly isExact?: boolean
  /** For a surface: equal if the shown tools are equal. */
  readonly fingerprint?: string
  readonly ok?: boolean
  readonly durationMs?: number
  /** For a call of a script: its number. */
  readonly inScript?: number
  /** The id of a script's run. */
  readonly run?: string
  /** For a surface: how many tools are deferred. */
  readonly deferred?: number
}

/** What the model read of tools in one turn. */
export interface SessionTurn {
  readonly turn: number
  /** The surface's fingerprint: equal if the shown tools are equal. */
  readonly fingerprint: string
  /** Tokens of the surface; an estimate, unless `isExact`. */
  readonly tokens: number
  /** Tokens of definitions in search answers that are still checked out. */
  readonly inAnswers: number
  readonly isExact?: boolean
  /** The tools that are checked out. */
  readonly names: readonly string[]
  /** Those whose definitions were in search answers. */
  readonly answered: readonly string[]
}

/** One conversation, as a line of a list. */
export interface SessionSummary {
  /** Identifies the session here; unlike its own id, it grants no access. */
  readonly id: string
  readonly openedAt: number
  readonly lastAt: number
  readonly totals: Totals
  readonly active: readonly string[]
  /** What it is about: its first search, or else the first tool that it called. */
  readonly topic: string | null
}

const MAX_STEPS = 600
const MAX_TEXT = 300
/** Of a script, and of its answer. */
const MAX_SCRIPT = 4_000
/** A surface has about this many tools that are not in the catalogue: the search tool, and usually `call_tool`. */
const META_TOOLS = 2
/** The id prefix of sessions of a gateway's clients. */
export const CLIENT_SESSION = 'gateway:'
/** No model takes a turn in less time. */
const SAME_TURN_MS = 1_000

type Surfaced = Extract<ToolcribEvent, { readonly type: 'surfaced' }>

interface SeenSurface {
  readonly event: Surfaced
  /**
   * `listed`: a client has read it, and no call shows yet that a model has. `shown`: its turn has begun, and the next
   * call belongs to it. `called`: a call has followed.
   */
  readonly use: 'listed' | 'shown' | 'called'
}

/** Tools that were checked out or returned. */
type Moved = ToolcribEvent & { readonly names: readonly string[]; readonly tokens: number }

/** How many tools a surface shows, in words. */
export function shownText(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools} tools`
}

export class SessionRecord {
  readonly steps: SessionStep[] = []
  readonly turns: SessionTurn[] = []
  readonly #id: string
  readonly #openedAt: number
  readonly #active = new Set<string>()
  #lastAt: number
  #totals = NO_TOTALS
  #turn = 0
  #topic: string | undefined
  #firstTool: string | undefined
  #callsUnderWay = 0
  /** Scripts that run, or wait. */
  readonly #scripts = new Set<string>()
  /** The latest surface; undefined if the session was opened before the inspector. */
  #surface: SeenSurface | undefined
  /** How many tools the last surface deferred while nothing was checked out. */
  #deferredAtRest = 0
  /** Tools whose definitions were in search answers, with their tokens. */
  readonly #answered = new Map<string, number>()

  constructor(id: string, at: number) {
    this.#id = id
    this.#openedAt = at
    this.#lastAt = at
  }

  summary(): SessionSummary {
    return {
      id: this.#id,
      openedAt: this.#openedAt,
      lastAt: this.#lastAt,
      totals: this.#totals,
      active: [...this.#active],
      topic: this.#topic ?? this.#firstTool ?? null,
    }
  }

  note(event: ToolcribEvent, tokensPerTool: () => number): Partial<Totals> {
    this.#lastAt = event.at
    const added = this.#take(event, tokensPerTool)
    this.#totals = addTotals(this.#totals, added)
    return added
  }

  #take(event: ToolcribEvent, tokensPerTool: () => number): Partial<Totals> {
    switch (event.type) {
      case 'session-opened':
        this.#add(event, 'opened', event.restored > 0 ? `${event.restored} tools restored` : '')
        return {}
      case 'surfaced':
        return this.#show(event, tokensPerTool)
      case 'searched':
        this.#topic ??= beginningOf(event.query, MAX_TEXT)
        this.#add(event, 'search', event.query, { names: event.names })
        return { searches: 1 }
      case 'missed':
        if (event.what === 'search') this.#topic ??= beginningOf(event.text, MAX_TEXT)
        this.#add(event, 'miss', event.text)
        return event.what === 'search' ? { misses: 1 } : {}
      case 'activated':
        for (const name of event.names) this.#answered.set(name, event.tokens / event.names.length)
        return this.#checkOut(event, 'activated')
      case 'auto-activated':
        return this.#checkOut(event, 'reached')
      case 'evicted':
        return this.#giveBack(event, 'evicted')
      case 'deactivated':
        return this.#giveBack(event, 'returned')
      case 'call-started':
        return this.#startCall(tokensPerTool)
      case 'call-finished': {
        this.#callsUnderWay = Math.max(0, this.#callsUnderWay - 1)
        const { name, ok, durationMs, code, toolCallId } = event
        if (!isSearchTool(name)) this.#firstTool ??= name
        const [, n] = (this.#scripts.size > 0 && /\.(\d+)$/.exec(toolCallId)) || []
        // A script waits for a person: nothing has failed, and its own line says so.
        if (code === 'waiting') return {}
        const inScript = n === undefined ? {} : { inScript: Number(n) }
        this.#add(event, 'call', code ?? '', { names: [name], ok, durationMs, ...inScript })
        return { calls: 1, errors: ok || code === 'paused' ? 0 : 1 }
      }
      case 'script-started':
        this.#scripts.add(event.run)
        return this.#noteScript(event, 'script', event.source)
      case 'script-paused':
        return this.#noteScript(event, 'waiting', '', { names: event.names })
      case 'script-decided':
        return this.#noteScript(event, 'decided', `${event.granted} allowed, ${event.denied} refused`)
      case 'script-ended':
        this.#scripts.delete(event.run)
        return this.#noteScript(event, 'script-ended', event.answer, { ok: event.ok })
      case 'result-trimmed':
        this.#add(event, 'trimmed', `${event.totalChars} characters cut to ${event.keptChars}`, {
          names: [event.name],
        })
        return {}
      case 'save-failed':
      case 'load-failed':
        this.#add(event, 'problem', event.error)
        return {}
      default:
        return {}
    }
  }

  #noteScript(
    event: ToolcribEvent & { readonly run: string },
    kind: SessionStep['kind'],
    text: string,
    more: Partial<SessionStep> = {},
  ): Partial<Totals> {
    this.#add(event, kind, '', { ...more, run: event.run, text: beginningOf(text, MAX_SCRIPT) })
    return {}
  }

  #checkOut(event: Moved, kind: 'activated' | 'reached'): Partial<Totals> {
    const { names, tokens } = event
    for (const name of names) this.#active.add(name)
    this.#add(event, kind, '', { names, tokens })
    return {}
  }

  #giveBack(event: Moved, kind: 'evicted' | 'returned'): Partial<Totals> {
    const { names, tokens } = event
    for (const name of names) {
      this.#active.delete(name)
      this.#answered.delete(name)
    }
    this.#add(event, kind, '', { names, tokens })
    return {}
  }

  #show(event: Surfaced, tokensPerTool: () => number): Partial<Totals> {
    if (this.#isRepeated(event)) return {}
    if (this.#active.size === 0) this.#deferredAtRest = event.deferredCount
    // Clients list tools when they connect, and after changes: only a call shows that a model has read the list.
    const isListed = event.sessionId?.startsWith(CLIENT_SESSION)
    this.#surface = { event, use: isListed ? 'listed' : 'shown' }
    return isListed ? {} : this.#beginTurn(event, tokensPerTool)
  }

  /** Clients read their list several times while they connect, before a model has seen it. */
  #isRepeated({ fingerprint, at }: Surfaced): boolean {
    if (fingerprint !== this.#surface?.event.fingerprint) return false
    const { event, use } = this.#surface
    return use === 'listed' || (use === 'shown' && at - event.at < SAME_TURN_MS)
  }

  /** A gateway's client lists its tools once and sends them with each turn: a call without a new list is a turn too. */
  #startCall(tokensPerTool: () => number): Partial<Totals> {
    const isFirst = this.#callsUnderWay === 0
    this.#callsUnderWay++
    const surface = this.#surface
    if (surface?.use === 'shown') {
      this.#surface = { ...surface, use: 'called' }
      return {}
    }
    // A list that arrives while calls run is for the turn after them.
    if (!isFirst) return {}
    if (surface?.use !== 'listed') return this.#beginTurn(undefined, tokensPerTool)
    this.#surface = { ...surface, use: 'called' }
    return this.#beginTurn(surface.event, tokensPerTool)
  }

  /** Begins a turn, with a surface that is new to the model if there is one; returns the cost of the turn. */
  #beginTurn(surfaced: Surfaced | undefined, tokensPerTool: () => number): Partial<Totals> {
    this.#turn++
    if (surfaced) {
      const { tokens, deferredCount: deferred, tools, fingerprint } = surfaced
      this.#add(surfaced, 'surface', shownText(tools), {
        tokens,
        deferred,
        fingerprint,
        names: [...this.#active],
      })
    }
    const answered = this.#answeredBeside()
    const inAnswers = Math.round(answered.reduce((sum, name) => sum + (this.#answered.get(name) ?? 0), 0))
    if (!this.#surface) return { turns: 1, shown: inAnswers }
    const { fingerprint, tokens } = this.#surface.event
    const names = [...this.#active]
    this.turns.push({ turn: this.#turn, fingerprint, tokens, inAnswers, names, answered })
    if (this.turns.length > MAX_STEPS) this.turns.shift()
    return costOf(this.#surface.event, tokens + inAnswers, tokensPerTool)
  }

  /** Tools whose definitions were in search answers, unless the surface shows them. */
  #answeredBeside(): readonly string[] {
    const deferred = this.#surface?.event.deferredCount ?? 0
    return deferred < this.#deferredAtRest ? [] : [...this.#answered.keys()]
  }

  #add(
    { at }: ToolcribEvent,
    kind: SessionStep['kind'],
    text: string,
    more: Partial<SessionStep> = {},
  ): void {
    this.steps.push({ at, turn: this.#turn, kind, text: beginningOf(text, MAX_TEXT), ...more })
    if (this.steps.length > MAX_STEPS) this.steps.shift()
  }
}

/** What a turn shows, and how much less that is than every tool. */
function costOf(
  { tools, deferredCount }: Surfaced,
  shown: number,
  tokensPerTool: () => number,
): Partial<Totals> {
  if (deferredCount === 0) return { turns: 1, shown }
  const everything = (deferredCount + Math.max(0, tools - META_TOOLS)) * tokensPerTool()
  return { turns: 1, shown, saved: Math.max(0, Math.round(everything - shown)) }
}

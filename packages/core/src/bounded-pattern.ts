import { describeError, ToolcribError } from './errors.ts'
import { type PatternProgram, readProgram, type Step } from './pattern-program.ts'
import type { Assertion } from './pattern-syntax.ts'
import { WorkBudget } from './time.ts'

export interface PatternOptions {
  readonly ignoreCase?: boolean
  /** `^` and `$` also match at line breaks. */
  readonly multiline?: boolean
  /** `.` also matches line breaks. */
  readonly dotAll?: boolean
  /** The longest source accepted, in characters: 200 by default. */
  readonly maxLength?: number
}

/**
 * An untrusted regular expression (of a model, a server, a schema). Running it costs bounded work, whatever the pattern
 * and the text.
 */
export interface BoundedPattern {
  /** The source as it was given. */
  readonly source: string
  /**
   * Whether the pattern occurs anywhere in the text. Takes the work from `budget`; throws `pattern-invalid`, with the
   * reason, when that is spent. Without a budget each test gets its own.
   */
  test(text: string, budget?: WorkBudget): boolean
}

/** The maximum number of steps that a pattern may unfold to. */
const MAX_STEPS = 2_000

const DEFAULT_MAX_LENGTH = 200

/**
 * Compiles a pattern that somebody else wrote, at once and without loading anything. The syntax is that of JavaScript
 * with what RE2 adds; a test takes time linear in its text.
 *
 * Throws `pattern-invalid`, with the reason, for a source that is too long, that has a syntax error, that cannot be
 * matched in linear time (backreferences, lookaround), or whose counted repeats unfold to too much.
 *
 * One search shares one budget among its tests:
 *
 *     const pattern = compilePattern(source, { ignoreCase: true })
 *     const budget = new WorkBudget()
 *     const found = texts.filter((text) => pattern.test(text, budget))
 */
export function compilePattern(source: string, options: PatternOptions = {}): BoundedPattern {
  const { ignoreCase = false, multiline = false, dotAll = false, maxLength = DEFAULT_MAX_LENGTH } = options
  if (source.length > maxLength) {
    throw invalid(`the pattern has ${source.length} characters; shorten it to ${maxLength}`)
  }
  try {
    return new StateMachine(source, readProgram(source, { ignoreCase, multiline, dotAll }, MAX_STEPS))
  } catch (thrown) {
    throw invalid(`/${source}/ cannot be used: ${describeError(thrown)}`, thrown)
  }
}

/** Further costs; following an ASCII character to a known state costs 1. */
const COST_OF_CODE = 2
const COST_OF_VISIT = 8
const COST_OF_STATE = 80
const COST_OF_SEED = 16

/** How much the kept states may hold; beyond it they are dropped and built again when needed. */
const MAX_HELD = 400_000

/** The cost of a state besides its seeds. */
const STATE_OVERHEAD = 200
const CODE_OVERHEAD = 4

/** The characters before and after a position in the text: all that assertions depend on. */
const ORDINARY = 0
const WORD = 1
const LINE_BREAK = 2
const EDGE = 3
type Neighbour = typeof ORDINARY | typeof WORD | typeof LINE_BREAK | typeof EDGE

const ASCII_END = 128
const HIGH_SURROGATE = 0xd800
const LOW_SURROGATE = 0xdc00

/** The end of the text, which leads out of a state like a character. */
const END = -1

/** A set of steps of a program, and which state each character leads to, as far as that is known. */
interface State {
  /** The steps to continue from, in order. */
  readonly seeds: Int32Array
  readonly before: Neighbour
  readonly byAscii: (State | undefined)[]
  readonly byCode: Map<number, State>
  /** By what follows: the steps that are reached without reading a character. */
  readonly reached: (Reached | undefined)[]
}

interface Reached {
  readonly isMatch: boolean
  readonly characters: readonly Extract<Step, { kind: 'character' }>[]
}

/**
 * Follows all paths through a program at once. Sets of steps become states when they are first reached, and the
 * transitions between them are cached, so that most characters cost one lookup.
 */
class StateMachine implements BoundedPattern {
  readonly source: string
  readonly #program: PatternProgram
  readonly #matched = emptyState()
  /** By hash of their seeds. */
  readonly #states = new Map<number, State[]>()
  #held = 0
  #start: State | undefined
  /** By step: the round in which it was last reached. */
  readonly #marks: Uint32Array
  #round = 0
  #work = 0

  constructor(source: string, program: PatternProgram) {
    this.source = source
    this.#program = program
    this.#marks = new Uint32Array(program.steps.length)
  }

  test(text: string, budget: WorkBudget = new WorkBudget()): boolean {
    const limit = budget.left
    const matched = this.#matched
    this.#work = 0
    this.#start ??= this.#stateOf([this.#program.start], this.#neighbourOf(END))
    let state = this.#start
    let at = 0
    for (const end = text.length; at <= end; at++) {
      let code = at < end ? text.charCodeAt(at) : END
      if (code >= HIGH_SURROGATE && code < LOW_SURROGATE) code = text.codePointAt(at) as number
      let next: State | undefined
      if (code < ASCII_END) next = state.byAscii[code + 1]
      else {
        next = state.byCode.get(code)
        this.#work += COST_OF_CODE
      }
      if (next === undefined) {
        next = this.#follow(state, code)
      }
      if (at + this.#work > limit) break
      state = next
      if (state === matched) break
      if (code > 0xffff) at++
    }
    budget.spend(at + this.#work)
    if (state === matched) return true
    if (at > text.length) return false
    throw invalid(`/${this.source}/ takes too much work on so much text; make it simpler or more specific`)
  }

  /** Computes the state that a character leads to. */
  #follow(state: State, code: number): State {
    const { isMatch, characters } = this.#reach(state, this.#neighbourOf(code))
    const next = isMatch ? this.#matched : this.#after(characters, code)
    if (code < ASCII_END) state.byAscii[code + 1] = next
    else {
      state.byCode.set(code, next)
      this.#held += CODE_OVERHEAD
    }
    return next
  }

  #after(characters: Reached['characters'], code: number): State {
    const seeds: number[] = []
    const round = ++this.#round
    this.#work += COST_OF_VISIT * characters.length
    for (const { set, next } of characters) {
      if (this.#marks[next] === round || !set.has(code)) continue
      this.#marks[next] = round
      seeds.push(next)
    }
    // A match may also start after this character.
    if (this.#marks[this.#program.start] !== round) seeds.push(this.#program.start)
    return this.#stateOf(seeds, this.#neighbourOf(code))
  }

  /** All steps that a state reaches without reading a character, given what follows. */
  #reach(state: State, after: Neighbour): Reached {
    const known = state.reached[after]
    if (known !== undefined) return known
    const { steps } = this.#program
    const characters: Reached['characters'][number][] = []
    let isMatch = false
    const round = ++this.#round
    const open = [...state.seeds]
    for (let number = open.pop(); number !== undefined; number = open.pop()) {
      this.#work += COST_OF_VISIT
      if (this.#marks[number] === round) continue
      this.#marks[number] = round
      const step = steps[number] as Step
      if (step.kind === 'match') isMatch = true
      else if (step.kind === 'character') characters.push(step)
      else if (step.kind === 'fork') open.push(step.next, step.other)
      else if (holds(step.what, state.before, after)) open.push(step.next)
    }
    const reached = { isMatch, characters }
    state.reached[after] = reached
    this.#held += characters.length
    return reached
  }

  #stateOf(seeds: number[], before: Neighbour): State {
    this.#work += COST_OF_STATE + COST_OF_SEED * seeds.length
    if (this.#held > MAX_HELD) this.#forget()
    const sorted = Int32Array.from(seeds).sort()
    let hash: number = before
    for (const seed of sorted) hash = Math.imul(hash ^ seed, 0x01000193)
    const alike = this.#states.get(hash) ?? []
    const known = alike.find((state) => state.before === before && areEqual(state.seeds, sorted))
    if (known !== undefined) return known
    const state = { ...emptyState(), seeds: sorted, before }
    this.#states.set(hash, [...alike, state])
    this.#held += STATE_OVERHEAD + sorted.length
    return state
  }

  #forget(): void {
    this.#states.clear()
    this.#start = undefined
    this.#held = 0
  }

  #neighbourOf(code: number): Neighbour {
    if (!this.#program.hasAssertions) return ORDINARY
    if (code === END) return EDGE
    if (code === 10 || code === 13 || code === 0x2028 || code === 0x2029) return LINE_BREAK
    return isWordCode(code) ? WORD : ORDINARY
  }
}

function emptyState(): State {
  return {
    seeds: new Int32Array(0),
    before: ORDINARY,
    byAscii: new Array(ASCII_END + 1).fill(undefined),
    byCode: new Map(),
    reached: [],
  }
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at])
}

function isWordCode(code: number): boolean {
  const isLetter = (code | 32) >= 97 && (code | 32) <= 122
  return isLetter || (code >= 48 && code <= 57) || code === 95
}

function holds(what: Assertion, before: Neighbour, after: Neighbour): boolean {
  switch (what) {
    case 'text-start':
      return before === EDGE
    case 'text-end':
      return after === EDGE
    case 'line-start':
      return before === EDGE || before === LINE_BREAK
    case 'line-end':
      return after === EDGE || after === LINE_BREAK
    case 'word-edge':
      return (before === WORD) !== (after === WORD)
    case 'no-word-edge':
      return (before === WORD) === (after === WORD)
  }
}

function invalid(reason: string, cause?: unknown): ToolcribError {
  return new ToolcribError('pattern-invalid', reason, cause === undefined ? undefined : { cause })
}

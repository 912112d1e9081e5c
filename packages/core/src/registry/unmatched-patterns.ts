import type { Emit, UnmatchedPattern } from '../events.ts'
import { META_TOOL_NAMES } from '../names.ts'
import type { Catalogue } from './catalogue.ts'
import { closeNames } from './close-names.ts'
import { type NamedTool, PermittingNames, RefusingNames, spellingsOf } from './name-patterns.ts'
import { checkNames, checkPolicy, isAskKind, type Policy } from './policy.ts'
import type { ServerDirectory } from './server-directory.ts'

/** Lists of names and globs. */
export interface PatternLists {
  readonly policy: Policy
  readonly pinned?: readonly string[] | undefined
}

/** The tools that have a reducer, by name. */
interface NamedReducers {
  readonly toolNames?: readonly string[]
}

const NO_PATTERNS = JSON.stringify([{}, []])
const MAX_REPORTED = 100

/** Tells which names and globs match no tool of a catalogue: probably slips. */
export class UnmatchedPatterns {
  readonly #catalogue: Catalogue
  readonly #emit: Emit
  /** The lists that were reported. */
  readonly #reported = new Set<string>()
  readonly #reducers: NamedReducers
  /** Policies name skills too. */
  readonly #skills: Pick<Catalogue, 'snapshot'> | undefined

  constructor(
    catalogue: Catalogue,
    emit: Emit,
    reducers: NamedReducers = {},
    skills?: Pick<Catalogue, 'snapshot'>,
  ) {
    this.#skills = skills
    this.#catalogue = catalogue
    this.#emit = emit
    this.#reducers = reducers
  }

  /** Throws `config-invalid` for a policy or list that is invalid. */
  of(lists: PatternLists): readonly UnmatchedPattern[] {
    checkPolicy(lists.policy)
    checkNames(lists.pinned, 'pinned')
    const sorted = [this.#catalogue, this.#skills].flatMap((all) => all?.snapshot().sorted ?? [])
    const tools = sorted.map(({ listing }) => listing)
    const nearest = (name: string) => closeNames(name, sorted, 1)[0]
    return [...unmatchedPatterns(lists, tools, nearest), ...this.#unmatchedReducers(nearest)]
  }

  /** The names and globs that match none of the tools. */
  pinned(names: readonly string[]): readonly string[] {
    const unmatched = this.of({ policy: {}, pinned: names })
    return unmatched.flatMap(({ list, pattern }) => (list === 'pinned' ? [pattern] : []))
  }

  /** Reducers that shorten nothing, because no tool has exactly that name. */
  #unmatchedReducers(nearest: (name: string) => string | undefined): readonly UnmatchedPattern[] {
    const unmatched = (this.#reducers.toolNames ?? []).filter(
      (name) => this.#catalogue.get(name) === undefined,
    )
    return unmatched.map((pattern) => {
      const close = nearest(pattern)
      return { list: 'reducers', pattern, ...(close === undefined ? {} : { nearest: close }) }
    })
  }

  /** Reports the lists of a session as events, each once. */
  report(
    { policy, pinned }: PatternLists,
    sessionId: string | undefined,
    servers: ServerDirectory | undefined,
  ): void {
    // A server that is connecting or failed may still have the tools that a list names.
    if (servers?.statuses().some(({ state }) => state === 'connecting' || state === 'failed')) return
    const key = JSON.stringify([policy, pinned, ...(this.#reducers.toolNames ?? [])])
    if (key === NO_PATTERNS || this.#reported.has(key)) return
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear()
    this.#reported.add(key)
    const place = sessionId === undefined ? {} : { sessionId }
    for (const unmatched of this.of({ policy, pinned }))
      this.#emit({ type: 'pattern-unmatched', ...unmatched, ...place })
  }
}

/**
 * Returns the names and globs that match none of these tools and no meta-tool. Reads each tool once. `nearest` returns
 * what a name was most likely meant to be.
 */
export function unmatchedPatterns(
  { policy, pinned = [] }: PatternLists,
  tools: Iterable<NamedTool>,
  nearest: (name: string) => string | undefined,
): readonly UnmatchedPattern[] {
  const { allow = [], deny = [], ask = [], filter = {} } = policy
  const asked = [ask].flat().filter((pattern) => !isAskKind(pattern))
  const { allowedMcpTools = [], excludeTools = [] } = filter
  const refusing = [
    ...refusals('deny', deny),
    ...refusals('ask', asked),
    ...refusals('excludeTools', excludeTools),
  ]
  const permitting = Object.entries({ allow, pinned, allowedMcpTools }).flatMap(([list, patterns]) =>
    patterns.map((pattern) => ({ list, pattern, names: new PermittingNames([pattern]) })),
  )
  let unmet = refusing.filter(({ names }) => !META_TOOL_NAMES.some((name) => names.hasName(name)))
  let unlisted = permitting
  for (const tool of tools) {
    if (unmet.length + unlisted.length === 0) break
    const spellings = unmet.length > 0 ? spellingsOf(tool) : []
    unmet = unmet.filter(({ names }) => !names.hasSpelling(spellings))
    unlisted = unlisted.filter(({ names }) => !names.has(tool))
  }
  return [...unmet, ...unlisted].map(({ list, pattern }) => {
    const close = pattern.includes('*') ? undefined : nearest(pattern)
    return {
      list: list as UnmatchedPattern['list'],
      pattern,
      ...(close === undefined ? {} : { nearest: close }),
    }
  })
}

function refusals(list: 'deny' | 'ask' | 'excludeTools', patterns: readonly string[]) {
  return patterns.map((pattern) => ({ list, pattern, names: new RefusingNames([pattern]) }))
}

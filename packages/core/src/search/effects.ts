import type { Listing } from '../tool.ts'
import { stem, wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import { matchFit, type Ranked } from './searcher.ts'

/** What a tool does to the world, or what a request asks for. */
export type Effect = 'reads' | 'writes' | 'destroys'

/** A tool that reads goes before one that does more if it fits at least this share as well. */
const READS_INSTEAD_FROM = 0.3

/**
 * A request to list, get or find never has a tool that changes something above one that reads the same thing, nor one that
 * deletes above any that reads, if it fits about as well.
 */
export function readersFirst(matches: readonly Ranked[], query: Query, places: number): readonly Ranked[] {
  if (query.kind !== 'keyword' || askedEffect(query.words) !== 'reads') return matches
  const first = matches.slice(0, places).map((match) => ({ match, effect: effectOf(match.listing) }))
  const ordered = [...first]
  for (const one of first.toReversed()) {
    if (one.effect !== 'writes' && one.effect !== 'destroys') continue
    const isReadInstead = ({ match, effect }: (typeof first)[number]) =>
      effect === 'reads' &&
      matchFit(match) >= READS_INSTEAD_FROM * matchFit(one.match) &&
      (one.effect === 'destroys' || isSameThing(match.listing, one.match.listing))
    const at = ordered.indexOf(one)
    const last = ordered.findLastIndex(isReadInstead)
    if (last < at) continue
    ordered.splice(at, 1)
    ordered.splice(last, 0, one)
  }
  // Scores are the chances of the places, so they stay.
  const placed = ordered.map(({ match }, at) =>
    withScoreOf((first[at] as (typeof first)[number]).match, match),
  )
  return [...placed, ...matches.slice(places)]
}

function withScoreOf({ score, fit }: Ranked, match: Ranked): Ranked {
  return { ...match, score, ...(fit === undefined ? {} : { fit }) }
}

/** Whether the names of two tools share a word besides their verbs. */
function isSameThing(one: Listing, other: Listing): boolean {
  const things = new Set(thingsOf(one))
  return thingsOf(other).some((word) => things.has(word))
}

function thingsOf({ ownName }: Listing): string[] {
  return wordsOf(ownName)
    .filter((word) => !EFFECTS.has(word) || ALSO_THINGS.has(word))
    .map(stem)
}

/** A tool that deletes is hinted at only to whoever asks to delete something. */
export function mayBeHinted(listing: Listing, request: string): boolean {
  return effectOf(listing) !== 'destroys' || askedEffect(request.split(/\s+/)) === 'destroys'
}

/** What a request asks for, by the verbs that its clauses begin with; undefined if they do not tell. */
export function askedEffect(words: readonly string[]): Effect | undefined {
  const clauses = words.join(' ').toLowerCase().replace(POLITE_START, '').split(CLAUSE_BORDER)
  const effects = clauses.flatMap((clause) => EFFECTS.get(/^[a-z]+/.exec(clause)?.[0] ?? '') ?? [])
  if (QUESTION.test(clauses[0] ?? '')) effects.push('reads')
  return strongest(effects)
}

/** What a tool does, by the verbs of its name, its annotations and the first word of its description. */
export function effectOf({ ownName, annotations = {}, description }: Listing): Effect | undefined {
  const named = effectOfName(ownName)
  if (annotations.destructiveHint === true) return 'destroys'
  // A name that changes or deletes says more than a server's claim that it does not.
  if (named !== undefined && named !== 'reads') return named
  if (annotations.readOnlyHint !== undefined) return annotations.readOnlyHint ? 'reads' : 'writes'
  return named ?? effectOfVerb(/^\s*([a-z]+)/i.exec(description)?.[1]?.toLowerCase() ?? '')
}

/** The first verb decides, unless it may as well be a thing and there is another that may not. */
function effectOfName(name: string): Effect | undefined {
  const verbs = name
    .replace(/(\p{Ll}|\d)(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => EFFECTS.has(word))
  const [first = ''] = verbs
  const sure = ALSO_THINGS.has(first) ? verbs.filter((word) => !ALSO_THINGS.has(word)) : [first]
  return strongest((sure.length > 0 ? sure : [first]).flatMap((word) => EFFECTS.get(word) ?? []))
}

/** "Lists", "Fetches". */
function effectOfVerb(verb: string): Effect | undefined {
  const form = [verb, verb.replace(/s$/, ''), verb.replace(/es$/, '')].find((one) => EFFECTS.has(one))
  return form === undefined || ALSO_THINGS.has(form) ? undefined : EFFECTS.get(form)
}

function strongest(effects: readonly Effect[]): Effect | undefined {
  return (['destroys', 'writes', 'reads'] as const).find((effect) => effects.includes(effect))
}

const POLITE_START =
  /^(?:(?:hi|hey|hello|please|(?:can|could|would) you|can i|i (?:want|need|would like|d like|'d like) to|help me|let s|let us)[ ,!]+)+/
const CLAUSE_BORDER = /(?:[,;.!?]\s*|\s+)(?:(?:and|or|then|also)\s+)+|[,;.!?]\s+/
const QUESTION =
  /^(?:what|which|who|where|when|how (?:many|much|long|far|big|old)|is there|are there|tell me)\b/

/** Verbs that names and descriptions also use for things, or for something else. */
const ALSO_THINGS: ReadonlySet<string> = new Set(
  `list search view check query count report look watch scan print preview review monitor display book store order post
  share comment run call set open close enable start stop test play save change register reset pay cancel move copy
  trigger reply label press type click`.split(/\s+/),
)

const EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ...of(
    'reads',
    `get list read find search show describe fetch view lookup look query retrieve check count inspect display browse
    see monitor analyze analyse explain summarize summarise compare watch locate scan print detect identify preview`,
  ),
  ...of(
    'writes',
    `create add update set edit write send post put insert upload publish run execute call start stop restart deploy
    apply assign modify change rename move copy merge push commit submit schedule book buy pay order transfer invite
    enable disable activate approve reject close open reopen lock unlock upsert patch import sync install configure
    register subscribe unsubscribe share reply comment archive restore rotate trigger cancel generate make save store
    attach click type press fill grant build launch fork replace append reset migrate`,
  ),
  ...of(
    'destroys',
    `delete remove drop destroy purge erase truncate wipe clear revoke terminate kill uninstall unpublish prune flush
    empty discard deregister detach`,
  ),
])

function of(effect: Effect, verbs: string): readonly (readonly [string, Effect])[] {
  return verbs.split(/\s+/).map((verb) => [verb, effect])
}

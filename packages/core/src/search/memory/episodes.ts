import { isRecord } from '../../json.ts'
import type { StoredValue } from '../../store/store.ts'
import { cutText } from '../../text.ts'
import type { Lift } from '../searcher.ts'

/** A request that a tool served, as memory keeps it. */
export interface Episode {
  /** The registered name of the tool. */
  readonly tool: string
  /** Where the tool is from: `builtin`, `plugin:<name>` or `mcp:<server>`. */
  readonly source: string
  /** A hash of the policy and the embedder: episodes of one context have no influence on another. */
  readonly context: string
  /** The vector of the request without its values, as bytes in base64. */
  readonly vector: string
  /** How strong it was at the time `at`: each success adds 1, and it halves with time. */
  readonly weight: number
  /** The time that `weight` is of, in milliseconds. */
  readonly at: number
  /** When its tool last served the request, in milliseconds. */
  readonly lastAt: number
  /** How many successes it counts. */
  readonly count: number
  /** The request itself, only where the host asked to keep it. */
  readonly text?: string
}

/** A success: the tool was returned by the search for a request, called, and the call was ok. */
export interface Lesson {
  readonly tool: string
  readonly source: string
  readonly context: string
  readonly vector: Float32Array
  readonly text?: string | undefined
  /** Tools that the same search ranked higher and that were not called with success. */
  readonly passedOver?: readonly string[]
}

/** How much is kept, and for how long. */
export interface MemoryLimits {
  readonly maxEpisodes: number
  readonly halfLifeMs: number
}

/** Requests less similar than this have nothing to do with each other. */
const SIMILAR_FROM = 0.45

/**
 * The lift on the scale of `Ranked.fit`, times the square of the cosine above `LIFT_FROM`: a request in nearly the same
 * words says a lot, one that merely shares a topic hardly anything. docs/search.md says how these numbers were chosen.
 */
const LIFT = 0.45
const LIFT_FROM = 0.3

/** No lift is larger: a tool that fits better by more than this stays ahead of any that was popular. */
export const MAX_LIFT = 0.1

/**
 * The shares that the tools with the highest lift, the second and the third highest get of it; others get none.
 * Requests for other tools of the same server are nearly as similar as those for the same tool, so that of several
 * remembered tools most are wrong.
 */
export const LIFT_SHARES = [1, 0.5, 0.25]

/** Requests this similar are the same one in other words: a success strengthens the episode instead of adding one. */
const SAME_FROM = 0.9

/** A tool's episodes in one context; the weakest makes room. */
export const EPISODES_PER_TOOL = 6

/** More successes do not make an episode last longer. */
const MAX_WEIGHT = 4

/** Weaker episodes are dropped. */
const LEAST_WEIGHT = 0.1

/** What is left of an episode whose tool was shown first for a similar request and not used. */
const PASSED_OVER = 0.5

const MAX_TEXT = 200

/** The episodes after a success. Pure: the same input gives the same output, within the limits. */
export function learned(
  episodes: readonly Episode[],
  { passedOver = [], ...lesson }: Lesson,
  limits: MemoryLimits,
  now: number,
): readonly Episode[] {
  const { tool, context } = lesson
  const current = faded(episodes, limits, now)
  const isOther = new Set(passedOver.filter((name) => name !== tool))
  const changed = current.flatMap((episode) => {
    if (episode.context !== context || !isOther.has(episode.tool)) return [episode]
    if (cosine(lesson.vector, decodeVector(episode.vector)) < SIMILAR_FROM) return [episode]
    const weight = episode.weight * PASSED_OVER
    return weight < LEAST_WEIGHT ? [] : [{ ...episode, weight }]
  })
  const same = mostSimilar(changed, lesson)
  const kept = changed.filter((episode) => episode !== same)
  return withinLimits([...kept, success(lesson, same, now)], lesson, limits)
}

/** The tools to lift for a request, the strongest lift first. Only the best episode of a tool counts. */
export function liftsOf(
  episodes: readonly DecodedEpisode[],
  request: Float32Array,
  context: string,
  { halfLifeMs }: Pick<MemoryLimits, 'halfLifeMs'>,
  now: number,
): readonly Lift[] {
  const best = new Map<string, number>()
  for (const { episode, vector } of episodes) {
    if (episode.context !== context) continue
    const similarity = cosine(request, vector)
    if (similarity < SIMILAR_FROM) continue
    const strength = 1 - 4 ** -weightAt(episode, halfLifeMs, now)
    const lift = strength * Math.min(MAX_LIFT, LIFT * (similarity - LIFT_FROM) ** 2)
    best.set(episode.tool, Math.max(best.get(episode.tool) ?? 0, lift))
  }
  const lifts = Array.from(best, ([id, lift]) => ({ id, lift }))
  lifts.sort((a, b) => b.lift - a.lift || (a.id < b.id ? -1 : 1))
  return LIFT_SHARES.slice(0, lifts.length).map((share, at) => {
    const { id, lift } = lifts[at] as Lift
    return { id, lift: share * lift }
  })
}

/** The episodes that are not forgotten yet, with their current weights. */
export function faded(
  episodes: readonly Episode[],
  { halfLifeMs }: Pick<MemoryLimits, 'halfLifeMs'>,
  now: number,
): readonly Episode[] {
  return episodes.flatMap((episode) => {
    const weight = weightAt(episode, halfLifeMs, now)
    return weight < LEAST_WEIGHT ? [] : [{ ...episode, weight, at: now }]
  })
}

/** An episode with its vector ready to compare. */
export interface DecodedEpisode {
  readonly episode: Episode
  readonly vector: Float32Array
}

export function decoded(episodes: readonly Episode[]): readonly DecodedEpisode[] {
  return episodes.map((episode) => ({ episode, vector: decodeVector(episode.vector) }))
}

/** About how many bytes of memory episodes take. */
export function bytesOf(episodes: readonly DecodedEpisode[]): number {
  return episodes.reduce((sum, { episode: { vector: encoded, text = '' }, vector }) => {
    return sum + BYTES_PER_EPISODE + vector.byteLength + encoded.length + 2 * text.length
  }, 0)
}

/** Objects, names and numbers. */
const BYTES_PER_EPISODE = 400

/** Reads what a store returned. Whatever is not an episode is left out. */
export function readEpisodes(stored: StoredValue | undefined, { maxEpisodes }: MemoryLimits): Episode[] {
  const list: unknown = isRecord(stored) ? stored.episodes : undefined
  if (!Array.isArray(list)) return []
  // Episodes of earlier versions have no `lastAt`.
  const kept = list.filter(isEpisode).slice(-maxEpisodes)
  return kept.map((episode) => ({ ...episode, lastAt: episode.lastAt ?? episode.at }))
}

/** The episodes as a store keeps them. */
export function writeEpisodes(episodes: readonly Episode[]): StoredValue {
  return { version: 1, episodes: episodes.map((episode) => ({ ...episode })) }
}

function isEpisode(value: unknown): value is Omit<Episode, 'lastAt'> & Partial<Pick<Episode, 'lastAt'>> {
  if (!isRecord(value)) return false
  const { tool, source, context, vector, weight, at, lastAt = at, count, text } = value
  const isText = [tool, source, context, vector].every((each) => typeof each === 'string')
  const isNumber = [weight, at, lastAt, count].every((each) => Number.isFinite(each))
  return isText && isNumber && (text === undefined || typeof text === 'string')
}

function weightAt({ weight, at }: Episode, halfLifeMs: number, now: number): number {
  return Math.min(MAX_WEIGHT, weight) * 2 ** -(Math.max(0, now - at) / halfLifeMs)
}

function mostSimilar(
  episodes: readonly Episode[],
  { tool, context, vector }: Omit<Lesson, 'passedOver'>,
): Episode | undefined {
  let best: Episode | undefined
  let least = SAME_FROM
  for (const episode of episodes) {
    if (episode.tool !== tool || episode.context !== context) continue
    const similarity = cosine(vector, decodeVector(episode.vector))
    if (similarity < least) continue
    best = episode
    least = similarity
  }
  return best
}

function success(lesson: Omit<Lesson, 'passedOver'>, same: Episode | undefined, now: number): Episode {
  const { tool, source, context, vector, text } = lesson
  const kept = text === undefined ? same?.text : cutText(text, MAX_TEXT)
  return {
    tool,
    source,
    context,
    vector: same?.vector ?? encodeVector(vector),
    weight: Math.min(MAX_WEIGHT, (same?.weight ?? 0) + 1),
    at: now,
    lastAt: now,
    count: (same?.count ?? 0) + 1,
    ...(kept === undefined ? {} : { text: kept }),
  }
}

/** The newest episode is the last one, and stays. */
function withinLimits(
  episodes: readonly Episode[],
  { tool, context }: Pick<Lesson, 'tool' | 'context'>,
  { maxEpisodes }: MemoryLimits,
): readonly Episode[] {
  let kept = [...episodes]
  const ofTool = kept.filter((episode) => episode.tool === tool && episode.context === context)
  if (ofTool.length > EPISODES_PER_TOOL) kept = without(kept, weakest(ofTool))
  while (kept.length > maxEpisodes) kept = without(kept, weakest(ofLargestSource(kept)))
  return kept
}

/** A source that fills the memory makes room itself, so that it cannot push out what is known of others. */
function ofLargestSource(episodes: readonly Episode[]): readonly Episode[] {
  const bySource = new Map<string, Episode[]>()
  for (const episode of episodes) {
    const group = bySource.get(episode.source)
    if (group) group.push(episode)
    else bySource.set(episode.source, [episode])
  }
  return [...bySource.values()].reduce((a, b) => (b.length > a.length ? b : a))
}

/** The weakest, the oldest among equals; never the last one of several. */
function weakest(episodes: readonly Episode[]): Episode {
  const older = episodes.length > 1 ? episodes.slice(0, -1) : episodes
  return older.reduce((a, b) => (b.weight < a.weight ? b : a))
}

function without(episodes: readonly Episode[], dropped: Episode): Episode[] {
  return episodes.filter((episode) => episode !== dropped)
}

/** A vector as bytes: a quarter of the size, and cosines stay within a hundredth. */
function encodeVector(vector: Float32Array): string {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const bytes = Uint8Array.from(vector, (value) => Math.round((127 * value) / (largest || 1)) + 128)
  return btoa(String.fromCharCode(...bytes))
}

/** A vector of length 1; empty for a text that is not one. */
function decodeVector(text: string): Float32Array {
  let bytes: string
  try {
    bytes = atob(text)
  } catch {
    return new Float32Array()
  }
  // A loop: `Float32Array.from()` and `map()` take many times as long, and a memory has thousands of vectors.
  const vector = new Float32Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) vector[at] = bytes.charCodeAt(at) - 128
  const length = Math.sqrt(dot(vector, vector)) || 1
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] as number) / length
  return vector
}

/** 0 for vectors of different embedders. */
export function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  const lengths = Math.sqrt(dot(a, a) * dot(b, b))
  return lengths === 0 ? 0 : dot(a, b) / lengths
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}

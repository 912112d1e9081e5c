import { splitName } from '../../packages/core/src/names.ts'
import { parameterTexts } from '../../packages/core/src/search/lexical/listing-terms.ts'
import { listingText } from '../../packages/core/src/search/vectors/listing-text.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import type { Pair } from './contrast.ts'
import type { Gloss } from './corpora.ts'
import type { DataSet, LabelledQuery } from './datasets.ts'
import { shuffled } from './random.ts'

/** Pairs of one group that stay together in a batch, where they are each other's hardest negatives. */
const NEIGHBOURS = 8

/** Characters used of a description, of its first sentence, and of the parameters' descriptions. */
const MAX_ANSWER = 400
const MAX_FIRST = 200
const MAX_PARAMETER_TEXT = 200
const MAX_PARAMETERS = 12

/** A shorter rest says too little to be a useful answer. */
const MIN_REST = 40
const MIN_PARAMETERS = 12
const MIN_ANSWER_TOKENS = 3

/** Every other question gets up to this many words from other requests. */
const MAX_NOISE = 6

/** A pair, and the group of its neighbours. */
export interface GroupedPair extends Pair {
  readonly group: string
}

type Read = (text: string) => number[]

/**
 * Pairs from one listing's own texts: its name asks for its description, the first sentence for the rest, and both
 * for the parameters. These texts seldom share words, just as requests and listings seldom do.
 */
export function listingPairs(listing: Listing, read: Read): GroupedPair[] {
  const { ownName, source, description, inputSchema } = listing
  const named = splitName(ownName)
  const origin = source.kind === 'mcp' ? splitName(source.server) : []
  const name = [...origin.filter((word) => !named.includes(word)), ...named].join(' ')
  const [first = '', rest = ''] = firstSentence(description.trim())
  const parameters = parameterTexts(inputSchema)
  const parameterNames = parameters.names.slice(0, MAX_PARAMETERS).flatMap(splitName).join(' ')
  const pieces: [asked: string, answer: string][] = [[name, description.slice(0, MAX_ANSWER)]]
  if (rest.length > MIN_REST) pieces.push([first, rest])
  if (parameterNames.length > MIN_PARAMETERS) {
    const parameterText = parameters.texts.join(' ').slice(0, MAX_PARAMETER_TEXT)
    pieces.push([`${name} ${first}`, `${parameterNames} ${parameterText}`])
  }
  const keys = [keyOf(listing), `text ${description.slice(0, 60)}`]
  return pieces
    .map(([asked, answer]) => ({ asked: read(asked), answer: read(answer), group: sourceOf(listing), keys }))
    .filter(({ asked, answer }) => asked.length > 0 && answer.length >= MIN_ANSWER_TOKENS)
}

function firstSentence(text: string): [first: string, rest: string] {
  const end = text.search(/(?<=[.!?])\s|\n/)
  if (end < 0) return [text.slice(0, MAX_FIRST), '']
  return [text.slice(0, Math.min(end, MAX_FIRST)), text.slice(end).trim().slice(0, MAX_ANSWER)]
}

/** The words ask for their meaning. */
export function glossPair({ words, meaning }: Gloss, at: number, read: Read): GroupedPair {
  return {
    asked: read(words),
    answer: read(meaning),
    group: `gloss ${at}`,
    keys: [`gloss ${words}`],
  }
}

/** How labelled queries become pairs. */
interface QuestionOptions {
  readonly read: Read
  readonly groupOf: (listing: Listing) => string
  readonly maxQueries: number
  readonly random: () => number
}

/** Training queries ask for one of their tools, a different one each time. */
export function questionPairs(
  set: DataSet,
  { read, groupOf, maxQueries, random }: QuestionOptions,
): GroupedPair[] {
  const usable = set.queries.filter((query) => !query.isHeldOut && query.relevant.length > 0)
  const chosen = shuffled(usable, random).slice(0, maxQueries)
  return chosen.flatMap((query) => {
    const listing = pick(query, random)
    const asked = read(query.text)
    const answer = read(listingText(listing))
    if (asked.length === 0 || answer.length === 0) return []
    return [{ asked, answer, group: groupOf(listing), keys: query.relevant.map(keyOf) }]
  })
}

/**
 * Adds random words from requests to every other question, which must still find its answer: courtesies, places,
 * dates and names then get little weight.
 */
export function withNoise(pairs: readonly Pair[], noise: readonly number[], random: () => number): Pair[] {
  if (noise.length === 0) return [...pairs]
  const word = (): number => noise[Math.floor(random() * noise.length)] as number
  return pairs.map((pair) => {
    if (random() < 0.5) return pair
    const count = 1 + Math.floor(random() * MAX_NOISE)
    return { ...pair, asked: [...pair.asked, ...Array.from({ length: count }, word)] }
  })
}

/** Leaves a share of the tokens of each text out: what it means must not hang on one word. */
export function withGaps(pairs: readonly Pair[], share: number, random: () => number): Pair[] {
  const thinned = (tokens: readonly number[]): readonly number[] => {
    const kept = tokens.filter(() => random() >= share)
    return kept.length === 0 ? tokens : kept
  }
  return pairs.map((pair) => ({ ...pair, asked: thinned(pair.asked), answer: thinned(pair.answer) }))
}

function pick({ relevant }: LabelledQuery, random: () => number): Listing {
  return relevant[Math.floor(random() * relevant.length)] as Listing
}

function sourceOf({ source }: Listing): string {
  return source.kind === 'mcp' ? source.server : 'none'
}

/** Equal for tools with the same name, on any server. */
function keyOf({ ownName }: Listing): string {
  return `name ${splitName(ownName).join(' ')}`
}

/** Shuffles pairs, but keeps a few of each group together. */
export function keepNeighbours(pairs: readonly GroupedPair[], random: () => number): Pair[] {
  const groups = new Map<string, GroupedPair[]>()
  for (const pair of shuffled(pairs, random)) {
    const group = groups.get(pair.group)
    if (group === undefined) groups.set(pair.group, [pair])
    else group.push(pair)
  }
  const chunks: Pair[][] = []
  for (const group of groups.values())
    for (let start = 0; start < group.length; start += NEIGHBOURS)
      chunks.push(group.slice(start, start + NEIGHBOURS))
  return shuffled(chunks, random).flat()
}

import { splitName } from '../../src/names.ts'
import { listingText } from '../../src/search/listing-text.ts'
import type { Listing } from '../../src/tool.ts'
import type { Pair } from './contrast.ts'
import type { Gloss } from './corpora.ts'
import type { DataSet, LabelledQuery } from './datasets.ts'
import { shuffled } from './random.ts'

/** Pairs of one source that stay together in a batch, where they are each other's hardest negatives. */
const NEIGHBOURS = 8

/** A pair, and what it is a neighbour of. */
export interface GroupedPair extends Pair {
  readonly group: string
}

type Read = (text: string) => number[]

/** A listing's name asks for its description. */
export function namePair(listing: Listing, read: Read): GroupedPair | undefined {
  const group = groupOf(listing)
  const named = splitName(listing.ownName)
  const origin = listing.source.kind === 'mcp' ? splitName(listing.source.server) : []
  const asked = read([...origin.filter((word) => !named.includes(word)), ...named].join(' '))
  const answer = read(listing.description.slice(0, 400))
  if (asked.length === 0 || answer.length < 3) return undefined
  return {
    asked,
    answer,
    group,
    keys: [keyOf(listing), `text ${listing.description.slice(0, 60)}`],
  }
}

/** Words ask for what they mean. */
export function glossPair({ words, meaning }: Gloss, at: number, read: Read): GroupedPair {
  return {
    asked: read(words),
    answer: read(meaning),
    group: `gloss ${at}`,
    keys: [`gloss ${words}`],
  }
}

/** Queries to train on ask for one of their tools, another one each time. */
export function questionPairs(
  set: DataSet,
  read: Read,
  maxQueries: number,
  random: () => number,
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

function pick({ relevant }: LabelledQuery, random: () => number): Listing {
  return relevant[Math.floor(random() * relevant.length)] as Listing
}

function groupOf({ source }: Listing): string {
  return source.kind === 'mcp' ? source.server : 'none'
}

/** Equal for tools of one name, whichever server offers them. */
function keyOf({ ownName }: Listing): string {
  return `name ${splitName(ownName).join(' ')}`
}

/** Shuffles pairs, but leaves a few of each source side by side. */
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

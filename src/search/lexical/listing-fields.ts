import type { Listing } from '../../tool.ts'
import { parameterTexts } from './parameter-texts.ts'

/** How the lexical index weighs one field of a listing. */
export interface Field {
  /** What a reason calls it. */
  readonly label: string
  /** How much one occurrence counts, against one in a description. */
  readonly weight: number
  /** How much a long field dilutes its words: 0 not at all, 1 in full proportion. */
  readonly dilution: number
  /** The length at which an occurrence counts its weight. Fixed, so that no tool's score hangs on others' lengths. */
  readonly usualWords: number
  /** What lies beyond is not indexed: nobody gains by a longer text. */
  readonly maxWords: number
  readonly keepsStopWords: boolean
}

/**
 * The fields, in the order of `fieldTexts`. The values were tuned together on labelled sets (bench/recall.ts); recall
 * is flat around them, so they are kept round.
 */
export const FIELDS: readonly Field[] = [
  // A name is what its author found most telling.
  { label: 'name', weight: 2.5, dilution: 0.4, usualWords: 3, maxWords: 40, keepsStopWords: true },
  // Curated for search by the host: worth as much as a name.
  { label: 'hint', weight: 2.5, dilution: 0.4, usualWords: 5, maxWords: 40, keepsStopWords: true },
  { label: 'description', weight: 1, dilution: 0.5, usualWords: 15, maxWords: 200, keepsStopWords: false },
  // Short, and repeated all over a server (`id`, `query`): they only tip the balance.
  {
    label: 'parameter names',
    weight: 0.5,
    dilution: 0.5,
    usualWords: 4,
    maxWords: 100,
    keepsStopWords: false,
  },
  { label: 'parameters', weight: 0.3, dilution: 0.5, usualWords: 20, maxWords: 200, keepsStopWords: false },
  // Shared by all tools of a server: strong enough to pick the server, equal within it.
  { label: 'server', weight: 1.5, dilution: 0.3, usualWords: 2, maxWords: 20, keepsStopWords: true },
]

/** The texts of a listing, one for each of `FIELDS`. */
export function fieldTexts(listing: Listing): string[] {
  const parameters = parameterTexts(listing.inputSchema)
  return [
    listing.title === undefined ? listing.ownName : `${listing.ownName} ${listing.title}`,
    listing.searchHint ?? '',
    listing.description,
    parameters.names.join(' '),
    parameters.texts.join(' '),
    originName(listing),
  ]
}

function originName({ source }: Listing): string {
  if (source.kind === 'mcp') return source.server
  return source.kind === 'plugin' ? source.plugin : ''
}

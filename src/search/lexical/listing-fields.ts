import type { Listing } from '../../tool.ts'
import { parameterTexts } from './parameter-texts.ts'

/** How the lexical index weights one field of a listing. */
export interface Field {
  /** The field's name in reasons. */
  readonly label: string
  /** The weight of one occurrence, relative to one in a description. */
  readonly weight: number
  /** How much a long field dilutes its words: 0 not at all, 1 proportionally. */
  readonly dilution: number
  /**
   * The length at which an occurrence has its full weight. Constant, so that no tool's score depends on others'
   * lengths.
   */
  readonly usualWords: number
  /** Further words are not indexed, so that longer texts gain nothing. */
  readonly maxWords: number
  readonly keepsStopWords: boolean
}

/**
 * The fields, in the order of `fieldTexts`. The values were tuned together on labelled sets (bench/recall.ts); recall
 * is flat around them, so they are round numbers.
 */
export const FIELDS: readonly Field[] = [
  // Authors put the most telling words in the name.
  { label: 'name', weight: 2.5, dilution: 0.4, usualWords: 3, maxWords: 40, keepsStopWords: true },
  // Curated for search by the host, so it weighs as much as a name.
  { label: 'hint', weight: 2.5, dilution: 0.4, usualWords: 5, maxWords: 40, keepsStopWords: true },
  { label: 'description', weight: 1, dilution: 0.5, usualWords: 15, maxWords: 200, keepsStopWords: false },
  // Short and repeated all over a server (`id`, `query`), so they only break near-ties.
  {
    label: 'parameter names',
    weight: 0.5,
    dilution: 0.5,
    usualWords: 4,
    maxWords: 100,
    keepsStopWords: false,
  },
  { label: 'parameters', weight: 0.3, dilution: 0.5, usualWords: 20, maxWords: 200, keepsStopWords: false },
  // Shared by all tools of a server: enough to select the server, and equal within it.
  { label: 'server', weight: 1.5, dilution: 0.3, usualWords: 2, maxWords: 20, keepsStopWords: true },
]

/** The texts of a listing, one per entry of `FIELDS`. */
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

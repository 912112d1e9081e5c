import { isServed, sourceName, splitName, withoutHidden } from '../../names.ts'
import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/listing-terms.ts'

/** Further characters are ignored: longer texts gain nothing, and a description starts with its main point. */
const MAX_NAME_CHARACTERS = 256
const MAX_DESCRIPTION_CHARACTERS = 300
const MAX_HINT_CHARACTERS = 200
const MAX_PARAMETERS = 5

/**
 * The part of a listing that an embedder reads: name, title, hint, the start of the description, and the names of its
 * first parameters. Equal listings give equal texts.
 */
export function listingText(listing: Listing): string {
  const name = nameText(listing).slice(0, MAX_NAME_CHARACTERS)
  const parameters = parameterTexts(listing.inputSchema).names.slice(0, MAX_PARAMETERS)
  const parts = [
    // Twice, since a long description would drown it out.
    name,
    name,
    (listing.searchHint ?? '').slice(0, MAX_HINT_CHARACTERS),
    listing.description.slice(0, MAX_DESCRIPTION_CHARACTERS),
    parameters.flatMap(splitName).join(' '),
  ]
  return withoutHidden(parts.filter((part) => part !== '').join('. '))
}

/** The words of a listing's name and title, preceded by those words of its server that they lack. */
function nameText({ ownName, title, source }: Listing): string {
  const words = splitName(ownName)
  const origin = isServed(source) ? splitName(sourceName(source)) : []
  const named = [...origin.filter((word) => !words.includes(word)), ...words].join(' ')
  return title === undefined ? named : `${named} ${title}`
}

import { splitName, withoutHidden } from '../../names.ts'
import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/parameter-texts.ts'

/** What lies beyond is not read: nobody gains by a longer text, and the gist of a description is at its start. */
const MAX_NAME_CHARACTERS = 256
const MAX_DESCRIPTION_CHARACTERS = 300
const MAX_HINT_CHARACTERS = 200
const MAX_PARAMETERS = 5

/**
 * What an embedder reads of a listing: name, title, hint, the start of the description, and the names of its first
 * parameters. The same listing always gives the same text.
 */
export function listingText(listing: Listing): string {
  const name = nameText(listing).slice(0, MAX_NAME_CHARACTERS)
  const parameters = parameterTexts(listing.inputSchema).names.slice(0, MAX_PARAMETERS)
  const parts = [
    // Twice, since it would drown in a long description.
    name,
    name,
    (listing.searchHint ?? '').slice(0, MAX_HINT_CHARACTERS),
    listing.description.slice(0, MAX_DESCRIPTION_CHARACTERS),
    parameters.flatMap(splitName).join(' '),
  ]
  return withoutHidden(parts.filter((part) => part !== '').join('. '))
}

/** The words of a listing's name and title, after those of its server that are not in them anyway. */
function nameText({ ownName, title, source }: Listing): string {
  const words = splitName(ownName)
  const origin = source.kind === 'mcp' ? splitName(source.server) : []
  const named = [...origin.filter((word) => !words.includes(word)), ...words].join(' ')
  return title === undefined ? named : `${named} ${title}`
}

import { splitName } from '../../packages/core/src/names.ts'
import { parameterTexts } from '../../packages/core/src/search/lexical/listing-terms.ts'
import type { Listing } from '../../packages/core/src/tool.ts'

const MAX_DESCRIPTION_CHARACTERS = 400
const MAX_PARAMETERS = 12

/**
 * The text of a listing for MiniLM. Separate from `listingText`, so that cached vectors stay valid when that changes.
 */
export function teacherText({ ownName, source, description, inputSchema }: Listing): string {
  const words = splitName(ownName)
  const origin = source.kind === 'mcp' ? splitName(source.server) : []
  const parameters = parameterTexts(inputSchema).names.slice(0, MAX_PARAMETERS).flatMap(splitName)
  const parts = [
    [...origin.filter((word) => !words.includes(word)), ...words].join(' '),
    description.slice(0, MAX_DESCRIPTION_CHARACTERS),
    parameters.join(' '),
  ]
  return parts.filter((part) => part !== '').join('. ')
}

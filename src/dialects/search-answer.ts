import { isRecord } from '../json.ts'
import type { WireTools } from './wire-tools.ts'

/** What an answer may say besides the tools it found. */
const ASIDES = [
  'already_visible',
  'evicted',
  'next_offset',
  'missing',
  'omitted',
  'unmatched_terms',
  'servers',
  'hint',
] as const

/**
 * What a search said besides the definitions that stand in place of its answer: tools that had to go, servers that
 * are not there yet, where to go on. `''` when there is nothing.
 */
export function searchNote(structured: unknown, tools: WireTools): string {
  if (!isRecord(structured)) return ''
  const said = ASIDES.flatMap((key) => {
    const value = structured[key]
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return []
    return [[key, key === 'evicted' || key === 'already_visible' ? shownNames(value, tools) : value] as const]
  })
  return said.length === 0 ? '' : `The search also says: ${JSON.stringify(Object.fromEntries(said))}`
}

/** Evicted tools under the names the model knows them by. */
function shownNames(names: unknown, tools: WireTools): unknown {
  if (!Array.isArray(names)) return names
  return names.map((name: unknown) => (typeof name === 'string' ? tools.toWireName(name) : name))
}

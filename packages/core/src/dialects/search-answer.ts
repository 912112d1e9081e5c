import { isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'
import type { WireTools } from './wire-tools.ts'

/**
 * Reduces a search's answer to what the model needs, with the names that requests declare: removes `$schema`, scores, empty lists, and the list of callable
 * names if it equals the matches. The answer is repeated in every later request. A search's answer is one object, as
 * text and as structured data; any other result is returned unchanged.
 */
export function forModel(result: ToolResult, tools: WireTools): ToolResult {
  if (!result.ok || !isRecord(result.structured)) return result
  if (result.value !== JSON.stringify(result.structured)) return result
  const { matches, activated } = result.structured
  const isAll = Array.isArray(activated) && activated.join('\n') === namesIn(matches).join('\n')
  const kept = Object.entries(result.structured).flatMap(([key, value]) => {
    if (key === 'activated' && isAll) return []
    // Without the list, all matches are callable.
    if (Array.isArray(value) && value.length === 0 && key !== 'matches' && key !== 'activated') return []
    if (key === 'parameters') return [[key, withoutUri(value)] as const]
    return [
      [
        key,
        withWireNames(key, key === 'matches' && Array.isArray(value) ? value.map(slimMatch) : value, tools),
      ] as const,
    ]
  })
  return { ...result, value: JSON.stringify(Object.fromEntries(kept)) }
}

/** The definitions that a search's answer quotes whole, by name. */
export function definitionsIn(structured: unknown): ReadonlyMap<unknown, object> {
  const { matches } = isRecord(structured) ? structured : {}
  const quoted = (Array.isArray(matches) ? matches : [structured]).filter(isRecord)
  return new Map(
    quoted
      .filter(({ name, parameters }) => typeof name === 'string' && isRecord(parameters))
      .map(({ name, description, parameters }) => [
        name,
        { name, description, parameters: withoutUri(parameters) },
      ]),
  )
}

function slimMatch(match: unknown): unknown {
  if (!isRecord(match)) return match
  const { score: _, ...rest } = match
  return isRecord(rest.parameters) ? { ...rest, parameters: withoutUri(rest.parameters) } : rest
}

/** The names of tools in one field of an answer, as requests declare them. */
function withWireNames(key: string, value: unknown, tools: WireTools): unknown {
  if (key === 'name' && typeof value === 'string') return tools.shownName(value)
  if (key === 'activated' || LISTS_OF_NAMES.includes(key)) return shownNames(value, tools)
  if ((key !== 'matches' && key !== 'tools') || !Array.isArray(value)) return value
  return value.map((match) =>
    isRecord(match) && typeof match.name === 'string'
      ? { ...match, name: tools.shownName(match.name) }
      : match,
  )
}

function withoutUri(schema: unknown): unknown {
  if (!isRecord(schema)) return schema
  const { $schema: _, ...rest } = schema
  return rest
}

/** Fields of an answer other than the matches. */
const ASIDES = [
  'note',
  'already_found',
  'already_visible',
  'not_activated',
  'evicted',
  'next_offset',
  'missing',
  'omitted',
  'unmatched_terms',
  'read_as',
  'servers',
  'servers_joined',
  'servers_left',
  'hint',
] as const

const LISTS_OF_NAMES: readonly string[] = ['evicted', 'not_activated', 'already_visible', 'already_found']

/**
 * A search's notes besides the definitions that replace its answer: evicted tools, unavailable servers, how to get
 * more. `''` if there are none.
 */
export function searchNote(structured: unknown, tools: WireTools): string {
  if (!isRecord(structured)) return ''
  const said: (readonly [key: string, value: unknown])[] = ASIDES.flatMap((key) => {
    const value = structured[key]
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return []
    return [[key, LISTS_OF_NAMES.includes(key) ? shownNames(value, tools) : value] as const]
  })
  const others = notLoaded(structured, tools)
  if (others.length > 0) said.push(['not_loaded', others])
  return said.length === 0 ? '' : `The search also returned: ${JSON.stringify(Object.fromEntries(said))}`
}

/** The matches that were not activated: nothing replaces what the answer says of them. */
function notLoaded({ matches, activated }: Record<string, unknown>, tools: WireTools): readonly object[] {
  if (!Array.isArray(matches) || !Array.isArray(activated)) return []
  return matches
    .filter(isRecord)
    .filter(({ name }) => typeof name === 'string' && !activated.includes(name))
    .map(({ name, description, parameters }) => ({
      ...{ name: tools.shownName(String(name)), description },
      ...(typeof parameters === 'string' ? { parameters } : {}),
    }))
}

function namesIn(listed: unknown): readonly unknown[] {
  return Array.isArray(listed) ? listed.filter(isRecord).map(({ name }) => name) : []
}

/** Evicted tools under their wire names. */
function shownNames(names: unknown, tools: WireTools): unknown {
  if (!Array.isArray(names)) return names
  return names.map((name: unknown) => (typeof name === 'string' ? tools.shownName(name) : name))
}

import type { ServerStatus } from '../registry/server-directory.ts'
import { clamp, clipText } from '../text.ts'
import type { Tool, ToolResult } from '../tool.ts'
import {
  answer,
  answerLimit,
  answerSearch,
  checkOut,
  echo,
  HOW_TO_ASK,
  howToCall,
  inputInvalid,
  searchFacts,
  verdict,
  withoutRoom,
} from './answer.ts'
import type { DefinitionLimit } from './fit-matches.ts'
import type { DeferredResult, SearchSession, SearchStyle, SearchToolOptions } from './search-session.ts'

interface Input {
  readonly query?: string
  readonly name?: string
  readonly limit?: number
  readonly offset?: number
}

/** `tool_search`: finds tools by words and checks them out; or checks one out by its name. */
export function toolSearch(
  session: SearchSession,
  options: SearchToolOptions & { readonly style: SearchStyle },
): Tool<Input> {
  return {
    name: 'tool_search',
    description: describeTool(options),
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description:
            'What you need, in a few words. Also: select:A,B  +required  -excluded  server:name  "a phrase"  /regex/',
        },
        name: { type: 'string', description: 'The exact name of a tool to load; wins over query.' },
        limit: {
          type: 'integer',
          description: `How many matches, 1 to ${maxLimit(options.style)}.`,
          default: usualLimit(options.style),
        },
        offset: { type: 'integer', description: 'Where to continue, from next_offset.' },
      },
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    execute(input, ctx) {
      const maxTokens = answerLimit(options, ctx)
      if (input.name?.trim())
        return loadByName(session, input.name.trim(), { ...options, maxAnswerTokens: maxTokens })
      if (!input.query?.trim()) {
        return inputInvalid(
          'tool_search needs a query (what you need, in a few words) or a name (one exact tool)',
        )
      }
      const query = input.query
      const limit = clamp(input.limit, {
        min: 1,
        max: maxLimit(options.style),
        otherwise: usualLimit(options.style),
      })
      const offset = clamp(input.offset, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 })
      return answerSearch(async () => {
        const found = await session.searchDeferred(query, { limit, offset })
        const page = { limit, offset, maxTokens, isDispatch: options.isDispatch }
        return options.style === 'two-step' ? list(session, found, page) : load(session, found, page)
      })
    },
  }
}

function maxLimit(style: SearchStyle): number {
  return style === 'two-step' ? 15 : 25
}

/** Two steps list pairs of name and description only. */
function usualLimit(style: SearchStyle): number {
  return style === 'two-step' ? 15 : 5
}

function describeTool({ style, behind, ...options }: SearchToolOptions & { style: SearchStyle }): string {
  const steps =
    style === 'two-step'
      ? `A query returns names and descriptions; then load one with name, and ${howToCall(options)}.`
      : `The likeliest match comes with its parameters: ${howToCall(options)}. Load one that is marked short with name.${options.isDispatch ? '' : ' Loaded tools stay until newer ones need their room.'}`
  return `Finds tools that are not shown to you, and loads them. Search before you conclude that something cannot be done. ${HOW_TO_ASK} ${steps}\nBehind it:\n${behind}`
}

/** Which matches were asked for, and the size limit of the answer. */
interface Page extends DefinitionLimit {
  readonly limit: number
  readonly offset: number
}

/** One step: what is found is checked out. Matches that would not fit into the answer wait at `next_offset`. */
async function load(session: SearchSession, found: DeferredResult, page: Page): Promise<ToolResult> {
  const { fitMatches } = await import('./fit-matches.ts')
  const {
    shown: matches,
    worthActivating,
    complete,
  } = fitMatches(found, session, {
    ...page,
    schemaBy: 'load with name',
    types: await session.typesOf(found.matches.map(({ name }) => name)),
  })
  const report = await checkOut(session, worthActivating)
  session.noteSeen(complete)
  const { activated, evicted } = report
  const use = page.isDispatch ? 'call it' : LOAD_IT
  const { note, hint } = verdict(found, { use, activated })
  const full = withoutRoom(worthActivating, report, { ...page, use })
  return answer({
    query: echo(found.query),
    total: found.total,
    ...(note === undefined ? {} : { note }),
    matches,
    activated,
    ...(full ? { not_activated: full.names } : {}),
    evicted,
    ...nextPage(found, matches.length, page),
    ...searchFacts(found, session),
    ...(full ? { hint: full.hint } : hint === undefined ? {} : { hint }),
  })
}

const LOAD_IT = 'load it with tool_search { name }'

/** Two steps: names and descriptions only; nothing is checked out. */
async function list(session: SearchSession, found: DeferredResult, page: Page): Promise<ToolResult> {
  const { fitItems } = await import('./fit-matches.ts')
  const described = found.matches.map(({ name, description }) => ({
    name,
    description: clipText(description, 400),
  }))
  const matches = fitItems(described, page.maxTokens)
  const { note, hint } = verdict(found, { use: LOAD_IT })
  return answer({
    query: echo(found.query),
    total: found.total,
    ...(note === undefined ? {} : { note }),
    matches,
    ...nextPage(found, matches.length, page),
    ...searchFacts(found, session),
    ...(hint === undefined ? {} : { hint }),
  })
}

function nextPage(found: DeferredResult, shown: number, { limit, offset }: Page): object {
  // A page that is not full was the last one, even if the total counts clones and unavailable tools.
  const isLast = shown === found.matches.length && shown < limit
  const next = offset + shown
  // Offsets count everything that fits, so an answer that leaves out earlier matches has no next page.
  const hasNext = found.alreadyFound === undefined && !isLast && shown > 0 && next < found.total
  return hasNext ? { next_offset: next } : {}
}

async function loadByName(
  session: SearchSession,
  name: string,
  options: SearchToolOptions,
): Promise<ToolResult> {
  const { shorten } = await import('./fit-matches.ts')
  const servers = session.describe(name) ? [] : await session.waitForServers()
  const definition = session.describe(name)
  if (!definition) return unknownName(session, name, servers)
  const { activated, evicted } = await session.activate([definition.name])
  if (!activated.includes(definition.name)) return noRoom(definition.name)
  const { maxAnswerTokens: maxTokens, isDispatch } = options
  const short = shorten(definition, { maxTokens, isDispatch })
  const isWhole = short.parameters === definition.parameters
  if (isWhole) session.noteSeen([definition])
  const typed = (await session.typesOf([definition.name])).get(definition.name)
  const shown = isWhole && typed?.isWhole ? { ...short, parameters: typed.types } : short
  return answer({
    activated: true,
    name: definition.name,
    ...shown,
    evicted: [...session.takeEvictions(), ...evicted],
  })
}

/** The answer when other calls of the same turn leave no room for a tool. */
function noRoom(name: string): ToolResult {
  return answer({
    activated: false,
    name,
    error: `"${name}" was not loaded: other tools of this turn took its place.`,
    suggestions: [],
    mcpServers: [],
    hint: 'Load it in your next turn.',
  })
}

function unknownName(session: SearchSession, name: string, servers: readonly ServerStatus[]): ToolResult {
  return answer({
    activated: false,
    name: echo(name),
    error: `There is no tool "${echo(name)}" here.`,
    suggestions: session.suggest(name),
    mcpServers: session.serverNames().slice(0, 50),
    hint: 'Use a suggestion, or search with query: what you need, in a few words.',
    ...(servers.length > 0 ? { servers: servers.slice(0, 25) } : {}),
  })
}

import { readFile } from 'node:fs/promises'
import { requestParts } from '../../packages/core/src/search/query/request-parts.ts'
import type { EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'
import type { LabelledCase } from '../recall/labelled-case.ts'

const OWN_QUERIES = new URL('../recall/harvested-queries.jsonl', import.meta.url)

/** Returns `count` tools: real ones as far as they go, then the same again as a fork of their server. */
export function catalogueOf(cases: readonly LabelledCase[], count: number): EvalTool[] {
  const real = distinct(
    cases.flatMap(({ name, tools }) => tools.map((tool) => ({ ...tool, id: `${name}/${tool.id}` }))),
  )
  const base = real.length > 0 ? real : madeUp()
  return Array.from({ length: count }, (_, at) => {
    const tool = base[at % base.length] as EvalTool
    const turn = Math.floor(at / base.length)
    return turn === 0
      ? tool
      : { ...tool, id: `${tool.id}~${turn}`, server: `${tool.server ?? 'own'}-fork${turn}` }
  })
}

/** The sets overlap; the same tool counts once. */
function distinct(tools: readonly EvalTool[]): EvalTool[] {
  return [...new Map(tools.map((tool) => [`${tool.server}/${tool.name}/${tool.description}`, tool])).values()]
}

function madeUp(): EvalTool[] {
  const verbs = ['list', 'get', 'create', 'update', 'delete', 'search', 'export', 'share', 'archive', 'count']
  const things = [
    'invoice',
    'customer',
    'ticket',
    'message',
    'file',
    'event',
    'order',
    'photo',
    'build',
    'note',
  ]
  return verbs.flatMap((verb) =>
    things.map((thing) => ({
      id: `${verb}_${thing}`,
      server: 'desk',
      name: `${verb}_${thing}`,
      description: `Lets you ${verb} a ${thing} of your workspace, by its identifier or by name`,
      inputSchema: { type: 'object' },
    })),
  )
}

/** Three to five words from tools' own descriptions, so that every query finds something. */
export function shortQueries(tools: readonly EvalTool[], count: number): string[] {
  return spread(tools, 4 * count)
    .flatMap(({ description }, at) => {
      const words = description.match(/[a-z]{3,}/gi) ?? []
      if (words.length < 8) return []
      const length = 3 + (at % 3)
      return [Array.from({ length }, (_, place) => words[(place * 7 + at) % words.length]).join(' ')]
    })
    .slice(0, count)
}

/** Real requests: some of each set, or our own queries when there is no set. */
export async function realQueries(cases: readonly LabelledCase[], count: number): Promise<string[]> {
  if (cases.length > 0)
    return cases.flatMap(({ queries }) => spread(queries, count)).map(({ query }) => query)
  const lines = (await readFile(OWN_QUERIES, 'utf8')).trim().split('\n')
  return lines.map((line): string => JSON.parse(line).query)
}

/** The requests that ask for several things. */
export function longQueries(queries: readonly string[]): string[] {
  return queries.filter((query) => requestParts(query).length >= 3)
}

function spread<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / count)
  return Array.from(
    { length: Math.min(count, items.length) },
    (_, at) => items[Math.floor(at * step)] as Item,
  )
}

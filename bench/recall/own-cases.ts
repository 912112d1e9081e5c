import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type EvalQuery,
  type EvalTool,
  loadCase,
  withDistractors,
} from '../../packages/toolcrib/src/eval/load-case.ts'
import type { LabelledCase } from './labelled-case.ts'
import { PUBLIC_DATA } from './public-sets.ts'
import { PUBLISHED_SERVERS } from './published-servers.ts'

/**
 * The sets to tune on, since they predict what a user's own servers gain: our own queries, of which the embedder saw
 * none, each alone and among 15,000 other tools.
 *
 * - `workshop`: 216 tools and 309 requests, written by hand: quoted values, names of things, typing errors, "how do I
 *   …", two steps in one, non-native English, other languages. Part of the repository.
 * - `dumps`: the tools of 62 published servers, with those of our harvested queries whose tools are among them.
 *   Outside the repository, like the other tools; left out if it is not there.
 */
export async function ownCases(): Promise<LabelledCase[]> {
  const cases = [await workshop(), ...(await dumps())]
  const others = await distractors()
  if (others === undefined) return cases
  return cases.flatMap((one) => [
    one,
    { ...one, name: `${one.name} among 15,000`, tools: withDistractors(one.tools, others) },
  ])
}

async function workshop(): Promise<LabelledCase> {
  const files = {
    tools: join(import.meta.dirname, 'workshop-tools.jsonl'),
    queries: join(import.meta.dirname, 'workshop-queries.jsonl'),
  }
  return { name: 'workshop', ...(await loadCase(files)) }
}

async function dumps(): Promise<LabelledCase[]> {
  const folder = `${PUBLIC_DATA}mcp-dumps`
  if (!existsSync(folder)) return []
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json') && !file.startsWith('_'))
  const tools: EvalTool[] = []
  for (const file of files) {
    const dump: Dump = JSON.parse(await readFile(join(folder, file), 'utf8'))
    const server = file.replace(/\.json$/, '').replace('__', '-')
    for (const { name, description = '', inputSchema } of dump.tools)
      tools.push({ id: `${dump.package}/${name}`, server, name, description, inputSchema })
  }
  return [{ name: 'dumps', tools, queries: await answerable(new Set(tools.map(({ id }) => id))) }]
}

interface Dump {
  readonly package: string
  readonly tools: readonly (Omit<EvalTool, 'id' | 'description'> & { readonly description?: string })[]
}

/** The id of a tool in the dumps, which have packages in place of servers. */
function toPackage(id: string): string {
  return id.replace(
    /^[^/]+/,
    (name) => PUBLISHED_SERVERS.find((server) => server.name === name)?.package ?? name,
  )
}

/** The harvested queries all of whose tools are among the dumps. */
async function answerable(ids: ReadonlySet<string>): Promise<EvalQuery[]> {
  const text = await readFile(join(import.meta.dirname, 'harvested-queries.jsonl'), 'utf8')
  const queries = text
    .trim()
    .split('\n')
    .map((line): EvalQuery => JSON.parse(line))
  return queries
    .map(({ relevant, ...query }) => ({
      ...query,
      relevant: relevant.map(toPackage),
    }))
    .filter(({ relevant }) => relevant.every((id) => ids.has(id)))
}

/** Past use of someone who has 40 tools of the dumps: three requests for each, written by hand for other occasions. */
export async function pastRequests(): Promise<
  { readonly query: string; readonly called: readonly string[] }[]
> {
  const text = await readFile(join(import.meta.dirname, 'past-requests.jsonl'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line): { query: string; called: string[] } => JSON.parse(line))
    .map(({ query, called }) => ({ query, called: called.map(toPackage) }))
}

async function distractors(): Promise<readonly EvalTool[] | undefined> {
  const file = `${PUBLIC_DATA}catalog-toucan/tools.jsonl`
  if (!existsSync(file)) return undefined
  const text = await readFile(file, 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line): EvalTool => JSON.parse(line))
    .map((tool) => ({ ...tool, description: tool.description ?? '', inputSchema: tool.inputSchema ?? {} }))
}

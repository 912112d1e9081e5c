import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadCase } from '../../packages/toolcrib/src/eval/load-case.ts'
import { readDataSets } from '../../scripts/train/datasets.ts'
import type { LabelledCase } from './labelled-case.ts'

/** Where the sets are: outside the repository. */
export const PUBLIC_DATA = fileURLToPath(new URL('../../../shared/data/', import.meta.url))

interface PublicSet {
  readonly name: string
  readonly folder: string
  readonly queries: string
  readonly distractors?: string
}

const SETS: readonly PublicSet[] = [
  { name: 'azure-mcp', folder: 'azure-mcp', queries: 'queries' },
  {
    name: 'azure-mcp among 15,000',
    folder: 'azure-mcp',
    queries: 'queries',
    distractors: 'catalog-toucan/tools',
  },
  { name: 'livemcpbench, tasks', folder: 'livemcpbench', queries: 'dev' },
  { name: 'livemcpbench, agent queries', folder: 'livemcpbench', queries: 'agent.dev' },
  { name: 'metatool', folder: 'metatool', queries: 'dev' },
  { name: 'metatool, two tools', folder: 'metatool', queries: 'queries.multi' },
  { name: 'toolbench', folder: 'toolbench', queries: 'dev' },
  { name: 'bfcl', folder: 'bfcl', queries: 'dev' },
]

/** The public labelled sets that are available. */
export async function publicSets(): Promise<LabelledCase[]> {
  const present = SETS.filter(({ folder }) => existsSync(`${PUBLIC_DATA}${folder}/tools.jsonl`))
  if (present.length === 0) return []
  const isKeptAside = keptAside()
  return Promise.all(
    present.map(async ({ name, folder, queries, distractors }) => {
      const labelled = await loadCase({
        tools: path(`${folder}/tools`),
        queries: path(`${folder}/${queries}`),
        ...(distractors === undefined ? {} : { distractors: path(distractors) }),
      })
      const table = `.bench/without-${folder}.bin`
      return { name, ...labelled, isKeptAside, ...(existsSync(table) ? { leftOutTable: table } : {}) }
    }),
  )
}

function path(name: string): string {
  return `${PUBLIC_DATA}${name}.jsonl`
}

/** Uses the same held-out queries as training. */
function keptAside(): (query: string) => boolean {
  const queries = readDataSets(PUBLIC_DATA).flatMap((set) => set.queries)
  const aside = new Set(queries.filter(({ isHeldOut }) => isHeldOut).map(({ text }) => text))
  return (query) => aside.has(query)
}

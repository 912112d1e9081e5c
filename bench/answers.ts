/**
 * What does an answer of `tool_search` cost, and what does it show? Tokens of the answer as a model reads it, and how often
 * the wanted tool is among the matches: complete, by signature, or by name only. By strategy. `npm run bench -- answers`
 */
import { ToolRegistry } from '../packages/core/src/index.ts'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { exactTokenCounter } from '../packages/embedder/src/exact-tokens.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import type { EvalTool } from '../packages/toolcrib/src/eval/load-case.ts'
import { percentile } from './gateway/measures.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { ownCases } from './recall/own-cases.ts'
import { publicSets } from './recall/public-sets.ts'
import { printTable } from './report.ts'

const GOAL = { median: 600, p95: 1_500 }
const SMOKE_REQUESTS = 20
const MOST_REQUESTS = 300

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const cases = [...(await ownCases()), ...(await publicSets())]
  console.log(
    `answers: tokens (o200k) of an answer of tool_search (goal: median ${GOAL.median}, p95 ${GOAL.p95})`,
  )
  for (const labelled of smoke ? cases.slice(0, 1) : cases) {
    console.log(`answers: ${labelled.name}, ${labelled.tools.length.toLocaleString('en-US')} tools`)
    const rows = []
    for (const strategy of ['dispatch', 'append'] as const)
      rows.push(await measure(labelled, strategy, smoke ? SMOKE_REQUESTS : MOST_REQUESTS))
    printTable(rows)
  }
}

interface Match {
  readonly name: string
  readonly parameters?: unknown
}

async function measure({ tools, queries }: LabelledCase, strategy: 'dispatch' | 'append', most: number) {
  const registry = new ToolRegistry({ mode: 'lazy', searcher: hybrid({ embedder: staticEmbedder() }) })
  const nameOf = register(registry, tools)
  const step = Math.max(1, Math.floor(queries.length / most))
  const asked = queries.filter((_, at) => at % step === 0).slice(0, most)
  const countTokens = await exactTokenCounter()
  const sizes: number[] = []
  const shown = { complete: 0, signature: 0, name: 0 }
  for (const { query, relevant } of asked) {
    // Each request is the first of its conversation.
    const session = await registry.openSession({ strategy })
    const [found] = await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query } }])
    if (!found?.result.ok) continue
    sizes.push(countTokens(found.result.value))
    const wanted = new Set(relevant.map((id) => nameOf.get(id)))
    const { matches } = found.result.structured as { readonly matches: readonly Match[] }
    const match = matches.find(({ name }) => wanted.has(name))
    if (match)
      shown[typeof match.parameters === 'object' ? 'complete' : match.parameters ? 'signature' : 'name']++
  }
  const share = (count: number) => `${((100 * count) / asked.length).toFixed(1)} %`
  const [median, p95] = [percentile(sizes, 50), percentile(sizes, 95)]
  return {
    strategy,
    median: median > GOAL.median ? `${median} MISSED` : median,
    p95: p95 > GOAL.p95 ? `${p95} MISSED` : p95,
    max: Math.max(...sizes),
    'wanted, complete': share(shown.complete),
    'by signature': share(shown.signature),
    'by name': share(shown.name),
  }
}

/** Registers each tool under its server, and returns the registered names by id. */
function register(registry: ToolRegistry, tools: readonly EvalTool[]): ReadonlyMap<string, string> {
  const nameOf = new Map<string, string>()
  for (const label of new Set(tools.map(({ server = 'tools' }) => server))) {
    const own = tools.filter(({ server = 'tools' }) => server === label)
    const server = label.replaceAll(/\W+/g, '-').slice(0, 40)
    const unique = [...new Map(own.map((tool) => [tool.name, tool])).values()]
    registry.syncMcp(
      server,
      unique.map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
        execute: () => 'done',
      })) as never,
    )
    for (const { id, name } of own) nameOf.set(id, `mcp__${server}__${name}`)
  }
  return nameOf
}

/**
 * How often does a request to list, get or find something have a tool first that changes something? By searcher, over the
 * labelled sets, with the share of those requests whose right tool is first. `npm run bench -- verbs`
 */
import { CatalogueSearch, type Listing, lexical } from '../packages/core/src/index.ts'
import { askedEffect } from '../packages/core/src/search/effects.ts'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { effectOf } from '../packages/core/src/tool-effect.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { ownCases } from './recall/own-cases.ts'
import { publicSets } from './recall/public-sets.ts'
import { printTable } from './report.ts'

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const cases = [...(await ownCases()), ...(await publicSets())]
  console.log('verbs: requests that read, and the tool that comes first')
  const rows = []
  for (const labelled of smoke ? cases.slice(0, 1) : cases)
    for (const searcher of [hybrid({ embedder: staticEmbedder() }), lexical()])
      rows.push({
        set: labelled.name,
        searcher: searcher.name,
        ...(await measure(labelled, new CatalogueSearch(searcher))),
      })
  printTable(rows)
}

async function measure({ tools, queries }: LabelledCase, search: CatalogueSearch) {
  const groups = new Map<string, Listing[]>()
  for (const { id, server = '', name, description, inputSchema } of tools) {
    const source = { kind: 'mcp', server } as const
    groups.set(server, groups.get(server) ?? [])
    groups.get(server)?.push({ name: id, ownName: name, description, inputSchema, source, trust: 0 })
  }
  await search.prepare(groups)
  search.sync(groups)
  const reading = queries.filter(({ query }) => askedEffect(query.split(/\s+/)) === 'reads')
  let changes = 0
  let destroys = 0
  let right = 0
  for (const { query, relevant } of reading) {
    const [first] = (await search.search(query)).ranked
    if (first === undefined) continue
    const effect = effectOf(first.listing)
    if (relevant.includes(first.listing.name)) right++
    else if (effect === 'destroys') destroys++
    else if (effect === 'writes') changes++
  }
  const share = (count: number) => `${((100 * count) / Math.max(1, reading.length)).toFixed(1)} %`
  return {
    requests: reading.length,
    'wrong and changes': share(changes),
    'wrong and deletes': share(destroys),
    right: share(right),
  }
}

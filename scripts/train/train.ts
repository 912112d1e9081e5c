/**
 * Trains the token table of `staticEmbedder()`; with `npm run train -- ranker`, the ranker of `hybrid` (ranker.ts).
 *
 *   npm run train -- --data <sets> --apis <OpenAPI folder> --glosses <WordNet dict folder>
 *                    --minilm <model folder> --runtime <folder> [--out models/tool-table-v6.bin]
 *
 * `--data` has one folder per set (scripts/train/datasets.ts describes them); `--apis` and `--glosses` add broader texts
 * and are optional; `--minilm` has the all-MiniLM-L6-v2 files in the layout of `minilm()`; `--runtime` is a folder where
 * onnxruntime-node is installed. MiniLM's vectors are cached in `--cache`. `--without a,b` leaves whole sets out and
 * reports on them: the honest figure for unseen catalogues and queries. The same inputs and seed give the same file.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { listingText } from '../../packages/core/src/search/vectors/listing-text.ts'
import { TokenTable, tableBytes } from '../../packages/embedder/src/token-table.ts'
import { readGlosses, readOperations } from './corpora.ts'
import { type DataSet, type LabelledQuery, readDataSets } from './datasets.ts'
import { evaluate, type Quality, type RankAll } from './evaluate.ts'
import { DEFAULTS, learnTable } from './learn-table.ts'
import { Teacher } from './teacher.ts'

if (process.argv[2] === 'ranker') {
  const { trainRanker } = await import('./ranker.ts')
  await trainRanker()
  process.exit(0)
}

if (process.argv[2] === 'scanner') {
  const { trainScanner } = await import('./scanner.ts')
  await trainScanner()
  process.exit(0)
}

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    apis: { type: 'string' },
    glosses: { type: 'string' },
    minilm: { type: 'string' },
    runtime: { type: 'string', default: '.' },
    cache: { type: 'string', default: '.bench/teacher' },
    out: { type: 'string', default: 'packages/embedder/models/tool-table-v6.bin' },
    name: { type: 'string', default: 'tool-table-v6' },
    without: { type: 'string', default: '' },
    seed: { type: 'string', default: String(DEFAULTS.seed) },
  },
})
if (values.data === undefined || values.minilm === undefined) {
  console.error(
    'usage: npm run train -- --data <sets> --minilm <model folder> [--runtime <folder>] [--out <file>]',
  )
  process.exit(2)
}

const sets = readDataSets(values.data)
const corpus = values.apis === undefined ? [] : [readOperations(values.apis)]
const glosses = values.glosses === undefined ? [] : readGlosses(values.glosses)
const leftOut = values.without.split(',').filter(Boolean)
const isLeftOut = ({ name }: DataSet): boolean => leftOut.includes(name)
const teacher = await Teacher.open(values.minilm, values.runtime, values.cache)
const learned = await learnTable([...sets.filter((set) => !isLeftOut(set)), ...corpus], glosses, teacher, {
  ...DEFAULTS,
  seed: Number(values.seed),
})
const bytes = tableBytes(values.name, learned.vocabulary, learned.rows, learned.network)
writeFileSync(values.out, bytes)
console.log(`${values.out}: ${learned.vocabulary.length} tokens, ${(bytes.length / 1e6).toFixed(2)} MB`)

const table = TokenTable.read(bytes)
const seen = sets.filter((set) => !isLeftOut(set))
report('queries kept aside', seen, (query) => query.isHeldOut)
report('sets left out', sets.filter(isLeftOut), () => true)

function report(title: string, asked: readonly DataSet[], isAsked: (query: LabelledQuery) => boolean): void {
  const results = evaluate(asked, rankByTable, isAsked)
  if (results.size === 0) return
  console.log(`${title}, the table alone: queries, R@1, R@5, nDCG@10`)
  for (const [name, quality] of results) console.log(`  ${name.padEnd(28)} ${row(quality)}`)
}

function row({ queries, recall1, recall5, ndcg10 }: Quality): string {
  return [queries, ...[recall1, recall5, ndcg10].map((value) => value.toFixed(1))].join('\t')
}

function rankByTable(...[set, queries]: Parameters<RankAll>): ReturnType<RankAll> {
  const vectors = set.listings.map((listing) => table.embed(listingText(listing)))
  const requests = table.embedRequests(queries.map(({ text }) => text))
  return requests.map((asked) => {
    const scores = vectors.map((vector) =>
      vector.reduce((sum, value, at) => sum + value * (asked[at] ?? 0), 0),
    )
    const places = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    return places.slice(0, 10)
  })
}

/**
 * Are hints worth their line? For requests that need a tool: how many get a hint, and how many of those hints name a tool
 * that is right. For 200 requests that need none (recall/no-tool-requests.jsonl): how many get a hint all the same. By the
 * confidence from which a hint is given; `turn-hints.ts` has the one in use.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogueSearch } from '../packages/core/src/search/catalogue-search.ts'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { ALIKE_FROM, HINT_LIMITS, NAMED_FROM, plainRequest } from '../packages/core/src/session/turn-hints.ts'
import type { Listing } from '../packages/core/src/tool.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import { toGroups } from '../packages/toolcrib/src/eval/load-case.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { ownCases } from './recall/own-cases.ts'
import { printTable } from './report.ts'

const LEVELS = [0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8]
const SMOKE_REQUESTS = 20

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const noTool = await noToolRequests()
  const cases = await ownCases()
  for (const labelled of smoke ? cases.slice(0, 1) : cases) {
    const count = smoke ? SMOKE_REQUESTS : Number.POSITIVE_INFINITY
    const hints = new Hints(labelled)
    const needed = await hints.of(labelled.queries.slice(0, count))
    const unneeded = await hints.of(noTool.slice(0, count).map((query) => ({ query, relevant: [] })))
    console.log(
      `hints: ${labelled.name}, % of ${needed.length} requests that need a tool and ${unneeded.length} that need none`,
    )
    printTable(LEVELS.map((level) => toRow(level, needed, unneeded)))
  }
}

async function noToolRequests(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, 'recall', 'no-tool-requests.jsonl'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).query)
}

/** What a request would be told. */
interface Hint {
  readonly confidence: number
  readonly isRight: boolean
}

class Hints {
  readonly #catalogue = new CatalogueSearch(hybrid({ embedder: staticEmbedder() }))
  readonly #idOf = new Map<Listing, string>()

  constructor({ tools }: LabelledCase) {
    this.#catalogue.sync(toGroups(tools, this.#idOf))
  }

  async of(
    requests: readonly Pick<LabelledCase['queries'][number], 'query' | 'relevant'>[],
  ): Promise<Hint[]> {
    const hints: Hint[] = []
    for (const { query, relevant } of requests) {
      const {
        ranked,
        confidence = 0,
        similarity = 0,
      } = await this.#catalogue.search(plainRequest(query), { limit: HINT_LIMITS.most })
      const named = ranked.filter(({ score }) => score >= NAMED_FROM)
      const isRight = named.some(({ listing }) => relevant.includes(this.#idOf.get(listing) ?? ''))
      const isGiven = named.length > 0 && similarity >= ALIKE_FROM
      hints.push({ confidence: isGiven ? confidence : 0, isRight })
    }
    return hints
  }
}

function toRow(level: number, needed: readonly Hint[], unneeded: readonly Hint[]) {
  const given = needed.filter(({ confidence }) => confidence >= level)
  const right = given.filter(({ isRight }) => isRight)
  const wrong = unneeded.filter(({ confidence }) => confidence >= level)
  const percent = (part: number, whole: number) => (whole === 0 ? '–' : ((100 * part) / whole).toFixed(1))
  return {
    'from confidence': `${level}${level === HINT_LIMITS.from ? ' (in use)' : ''}`,
    'hint given': percent(given.length, needed.length),
    'hint names the tool': percent(right.length, needed.length),
    'of the hints given': percent(right.length, given.length),
    'false hints': percent(wrong.length, unneeded.length),
  }
}

import { hybrid } from '../../packages/core/src/search/hybrid.ts'
import { lexical } from '../../packages/core/src/search/lexical.ts'
import { weighted } from '../../packages/core/src/search/weighted.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import { confidenceInterval, type Interval, mean } from '../../packages/toolcrib/src/eval/figures.ts'
import type { EvalQuery, EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'
import { type QueryOutcome, score } from '../../packages/toolcrib/src/eval/measure.ts'
import type { LabelledCase } from './labelled-case.ts'
import { boostedMiniSearch, miniSearch, ours, type Ranker } from './rankers.ts'

/** The results of one searcher on a case. Shares are between 0 and 1. */
export interface Figures {
  readonly searcher: string
  readonly queries: number
  readonly recall: QueryOutcome['recall']
  /** The 95 % confidence interval of recall@5. */
  readonly recall5Interval: Interval
  readonly ndcg10: number
}

/** The figures of `hybrid` with an embedder trained without the set. */
export const LEFT_OUT = 'hybrid, left out'

/** The figures of a searcher on the queries held out of the embedder's training. */
export function keptAside(searcher: string): string {
  return `${searcher}, kept aside`
}

const CONTENDERS: Readonly<Record<string, (tools: readonly EvalTool[]) => Ranker>> = {
  weighted: (tools) => ours(tools, weighted()),
  MiniSearch: miniSearch,
  'MiniSearch, boosted': boostedMiniSearch,
  lexical: (tools) => ours(tools, lexical()),
  hybrid: (tools) => ours(tools, hybrid({ embedder: staticEmbedder() })),
}

/** Runs the same queries on every searcher. */
export async function measureCase(labelled: LabelledCase): Promise<readonly Figures[]> {
  const { tools, queries, isKeptAside, leftOutTable } = labelled
  const figures: Figures[] = []
  for (const [name, build] of Object.entries(CONTENDERS)) {
    const outcomes = await outcomesOf(build(tools), queries)
    figures.push(figuresOf(name, outcomes))
    if (isKeptAside === undefined) continue
    const aside = outcomes.filter((_, at) => isKeptAside(queries[at]?.query ?? ''))
    if (aside.length > 0) figures.push(figuresOf(keptAside(name), aside))
  }
  if (leftOutTable !== undefined) {
    const embedder = staticEmbedder({ path: leftOutTable })
    figures.push(figuresOf(LEFT_OUT, await outcomesOf(ours(tools, hybrid({ embedder })), queries)))
  }
  return figures
}

type Outcome = ReturnType<typeof score>

async function outcomesOf(rank: Ranker, queries: readonly EvalQuery[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { query, relevant } of queries) outcomes.push(score(await rank(query), new Set(relevant)))
  return outcomes
}

function figuresOf(searcher: string, outcomes: readonly Outcome[]): Figures {
  const at = (cutoff: keyof QueryOutcome['recall']) => outcomes.map(({ recall }) => recall[cutoff])
  return {
    searcher,
    queries: outcomes.length,
    recall: { '1': mean(at('1')), '3': mean(at('3')), '5': mean(at('5')), '10': mean(at('10')) },
    recall5Interval: confidenceInterval(at('5')),
    ndcg10: mean(outcomes.map(({ ndcg }) => ndcg)),
  }
}

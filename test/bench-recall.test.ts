import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Figures, keptAside, LEFT_OUT } from '../bench/recall/measure-case.ts'
import { PUBLISHED_SERVERS } from '../bench/recall/published-servers.ts'
import { recallPlot } from '../bench/recall/recall-plot.ts'

describe('our own queries', () => {
  const lines = readFileSync(new URL('../bench/recall/harvested-queries.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const queries = lines.map((line): { id: string; query: string; relevant: string[] } => JSON.parse(line))

  it('are unique, and name only harvested servers', () => {
    const servers = PUBLISHED_SERVERS.map(({ name }) => name)
    for (const { query, relevant } of queries) {
      expect(relevant, query).not.toHaveLength(0)
      for (const id of relevant) expect(servers, query).toContain(id.split('/')[0])
    }
    expect(new Set(queries.map(({ query }) => query)).size).toBe(queries.length)
    expect(new Set(queries.map(({ id }) => id)).size).toBe(queries.length)
  })

  it('cover every server', () => {
    const asked = new Set(queries.flatMap(({ relevant }) => relevant.map((id) => id.split('/')[0])))
    expect(PUBLISHED_SERVERS.map(({ name }) => name).filter((name) => !asked.has(name))).toEqual([])
  })
})

describe('the workshop', () => {
  const linesOf = (name: string) =>
    readFileSync(new URL(`../bench/recall/${name}.jsonl`, import.meta.url), 'utf8')
      .trim()
      .split('\n')
  const ids = linesOf('workshop-tools').map((line): string => JSON.parse(line).id)
  const queries = linesOf('workshop-queries').map((line): { query: string; relevant: string[] } =>
    JSON.parse(line),
  )

  it('has 300 queries or more, all of them different, that ask for every tool and for no other', () => {
    expect(queries.length).toBeGreaterThanOrEqual(300)
    expect(new Set(queries.map(({ query }) => query)).size).toBe(queries.length)
    const asked = new Set(queries.flatMap(({ relevant }) => relevant))
    expect([...asked].sort()).toEqual([...ids].sort())
  })
})

describe('the plot of recall', () => {
  it('draws hybrid with its result on a set that it never saw', () => {
    const plot = recallPlot([
      { name: 'a & b', figures: [figures('lexical', 0.5), figures('hybrid', 0.9), figures(LEFT_OUT, 0.6)] },
    ])
    expect(plot).toContain('>60.0<')
    expect(plot).not.toContain('90.0')
    expect(plot).toContain('a &amp; b')
  })

  it('compares on the same queries when only some were held out', () => {
    const plot = recallPlot([
      {
        name: 'a',
        figures: [
          figures('lexical', 0.5),
          figures(keptAside('lexical'), 0.25),
          figures('hybrid', 0.9),
          figures(keptAside('hybrid'), 0.75),
        ],
      },
    ])
    expect(plot).toContain('lexical 25.0')
    expect(plot).toContain('hybrid 75.0')
  })
})

function figures(searcher: string, recall: number): Figures {
  return {
    searcher,
    queries: 10,
    recall: { '1': recall, '3': recall, '5': recall, '10': recall },
    recall5Interval: [recall - 0.1, recall + 0.1],
    ndcg10: recall,
  }
}

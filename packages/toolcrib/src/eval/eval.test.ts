import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { hybrid, lexical, weighted } from '@toolcrib/core'
import { staticEmbedder } from '@toolcrib/embedder'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { evalCommand } from './command.ts'
import { compare } from './compare.ts'
import { confidenceInterval, signTest } from './figures.ts'
import { loadCase } from './load-case.ts'
import { measure } from './measure.ts'
import { evaluate } from './run-eval.ts'

/** Most of these tests need no true size of the index: a garbage collection takes longer than they do. */
const QUICK = { collectGarbage: () => {} }

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolcrib-eval-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

async function file(name: string, lines: readonly unknown[]): Promise<string> {
  const path = join(folder, name)
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  await writeFile(path, text.join('\n'))
  return path
}

const TOOLS = [
  { id: 'a', server: 'sky', name: 'forecast', description: 'Weather of the coming days', inputSchema: {} },
  { id: 'b', server: 'sea', name: 'forecast', description: 'Waves of the coming days', inputSchema: {} },
  { id: 'c', name: 'send_mail', description: 'Sends an electronic letter' },
]

describe('evaluate', () => {
  it('leaves out distractors that repeat a tool, case and spaces aside', async () => {
    const report = await evaluate({
      ...QUICK,
      searcher: 'lexical',
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [{ id: '1', query: 'electronic letter', relevant: ['c'] }]),
      distractors: await file('d.jsonl', [
        { id: 'x', name: 'Forecast', description: 'weather of the  coming days' },
        { id: 'y', name: 'Forecast', description: 'Weather of the past' },
      ]),
    })
    expect(report.tools).toBe(4)
  })

  it('reports strict recall, and recall that takes a clone for the tool', async () => {
    const twin = { id: 'd', server: 'air', name: 'forecast', description: 'weather of the coming days' }
    const report = await evaluate({
      ...QUICK,
      searcher: 'weighted',
      tools: await file('t.jsonl', [...TOOLS, twin]),
      queries: await file('q.jsonl', [{ id: '1', query: 'weather', relevant: ['a'] }]),
    })
    expect(report.cloneAwareRecall['1']).toBe(1)
    expect(report.recall['1']).toBeLessThanOrEqual(report.cloneAwareRecall['1'])
  })

  it('tells how reliable the scores of hybrid are, and what past use gives', async () => {
    const labelled = await loadCase({
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [{ id: '1', query: 'what are the surfers doing', relevant: ['c'] }]),
    })
    const searcher = () => hybrid({ embedder: staticEmbedder() })
    const { report } = await measure(searcher(), labelled, QUICK)
    const history = [{ query: 'what are the surfers up to', called: ['c'] }]
    const learned = await measure(searcher(), labelled, { ...QUICK, history })
    expect(learned.report.recall['1']).toBe(1)
    expect(report.recall['1']).toBe(0)
    const [bin] = learned.report.reliability ?? []
    expect(bin?.matches).toBeGreaterThan(0)
  })

  it('measures recall, nDCG and MRR by id, where names repeat', async () => {
    const report = await evaluate({
      searcher: 'lexical',
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [
        { id: '1', query: 'weather', relevant: ['a'] },
        { id: '2', query: 'waves', relevant: ['b', 'c'] },
        { id: '3', query: 'quokka', relevant: ['c'] },
        { id: '4', query: 'coming days weather', relevant: ['b'] },
      ]),
    })
    expect(report).toMatchObject({ searcher: 'lexical', tools: 3, queries: 4 })
    expect(report.recall).toEqual({ '1': 0.375, '3': 0.625, '5': 0.625, '10': 0.625 })
    expect(report.mrr).toBe(0.625)
    const second = 1 / Math.log2(3)
    expect(report.ndcg10).toBeCloseTo((1 + 1 / (1 + second) + 0 + second) / 4, 3)
    for (const figure of [report.p50Micros, report.p95Micros, report.indexMs])
      expect(figure).toBeGreaterThan(0)
    expect(report.indexBytes).toBeGreaterThanOrEqual(0)
  })

  it('leaves out distractors with the name of a relevant tool', async () => {
    const report = await evaluate({
      ...QUICK,
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [{ id: '1', query: 'weather forecast', relevant: ['a'] }]),
      distractors: await file('d.jsonl', [
        { id: 'a', server: 'x', name: 'forecast', description: 'Weather forecast' },
        { id: 'd2', server: 'x', name: 'send_mail', description: 'Is kept: no query is about it' },
      ]),
    })
    expect(report.tools).toBe(4)
    expect(report.recall['1']).toBe(1)
  })

  it('uses the named searcher', async () => {
    const tools = await file('t.jsonl', TOOLS)
    const queries = await file('q.jsonl', [{ id: '1', query: 'cast', relevant: ['a', 'b'] }])
    expect((await evaluate({ ...QUICK, tools, queries, searcher: 'weighted' })).recall['3']).toBe(1)
    expect((await evaluate({ ...QUICK, tools, queries, searcher: 'lexical' })).recall['3']).toBe(0)
    await expect(evaluate({ ...QUICK, tools, queries, searcher: 'toString' })).rejects.toMatchObject({
      code: 'usage-invalid',
    })
  })

  it('reports progress, and counts an invalid query as one that finds nothing', async () => {
    const seen: string[] = []
    const report = await evaluate({
      ...QUICK,
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [
        { id: '1', query: '???', relevant: ['a'] },
        { id: '2', query: 'waves', relevant: ['b'] },
        { id: '3', query: 'nothing is relevant to this', relevant: [] },
      ]),
      onProgress: (done, total) => seen.push(`${done}/${total}`),
    })
    expect(report).toMatchObject({ queries: 2, recall: { '1': 0.5 } })
    expect(seen).toEqual(['1/2', '2/2'])
  })

  it.each([
    ['not JSON', '{ "id": ', /t\.jsonl:2: /],
    ['a line that is not an object', '[]', /t\.jsonl:2: a line must be a JSON object/],
    ['no name', { id: 'x' }, /t\.jsonl:2: a tool needs/],
    ['a server that is not a string', { id: 'x', name: 'y', server: 3 }, /t\.jsonl:2: "server"/],
    ['a duplicate id', { id: 'a', name: 'y' }, /t\.jsonl: duplicate tool id "a"/],
  ])('rejects tools with %s and says where', async (_, line, message) => {
    const tools = await file('t.jsonl', [TOOLS[0], line])
    const queries = await file('q.jsonl', [{ id: '1', query: 'x', relevant: ['a'] }])
    await expect(evaluate({ ...QUICK, tools, queries })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringMatching(message),
    })
  })

  it.each([
    ['no query', { relevant: ['a'] }, /q\.jsonl:1: a query needs a "query"/],
    ['wrong labels', { query: 'x', relevant: 'a' }, /q\.jsonl:1: a query needs "relevant"/],
    ['nothing relevant', { query: 'x', relevant: [] }, /has no query with relevant tools/],
  ])('rejects queries with %s and says where', async (_, line, message) => {
    const tools = await file('t.jsonl', TOOLS)
    await expect(evaluate({ ...QUICK, tools, queries: await file('q.jsonl', [line]) })).rejects.toThrow(
      message,
    )
  })

  it('names a missing file', async () => {
    await expect(evaluate({ tools: join(folder, 'none.jsonl'), queries: '' })).rejects.toThrow(
      /cannot read .*none\.jsonl/,
    )
  })
})

describe('evalCommand', () => {
  it('is called eval and has the options of its help', () => {
    const help = evalCommand(fakeTerminal().terminal).helpInformation()
    for (const option of ['--tools', '--queries', '--distractors', '--searcher', '--json'])
      expect(help).toContain(option)
  })
})

describe('toolcrib eval', () => {
  it.each([
    [80, /^recall@1 +[\d.]+ % +[\d.]+ %/m],
    [200, /^hybrid +[\d.]+ %/m],
  ])('fits its table into %i columns', async (width, row) => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: width })
    const tools = await file('t.jsonl', TOOLS)
    const queries = await file('q.jsonl', [{ id: '1', query: 'weather', relevant: ['a'] }])
    const { terminal } = fakeTerminal({ output })
    await evalCommand(terminal).parseAsync(['--tools', tools, '--queries', queries, '--searcher', 'all'], {
      from: 'user',
    })
    const shown = stripVTControlCharacters(String(output.read()))
    expect(shown).toMatch(row)
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(width)
  })

  it('compares two searchers query by query', async () => {
    const labelled = {
      tools: await file('t.jsonl', TOOLS),
      queries: await file('q.jsonl', [
        { id: '1', query: 'weather', relevant: ['a'] },
        { id: '2', query: 'mailing', relevant: ['c'] },
      ]),
    }
    const tools = await loadCase(labelled)
    const comparison = compare(
      await measure(lexical(), tools, QUICK),
      await measure(weighted(), tools, QUICK),
    )
    expect(comparison).toMatchObject({
      first: 'lexical',
      second: 'weighted',
      firstBetter: 1,
      secondBetter: 0,
      equal: 1,
      pValue: 1,
    })
    expect(comparison.differences).toMatchObject([
      { id: '2', query: 'mailing', firstRank: 1, secondRank: null },
    ])
  })

  it('writes the queries it misses', async () => {
    const misses = join(folder, 'misses.jsonl')
    const tools = await file('t.jsonl', TOOLS)
    const queries = await file('q.jsonl', [
      { id: '1', query: 'weather', relevant: ['a'] },
      { id: '2', query: 'quokka', relevant: ['c'] },
    ])
    const flags = [
      '--tools',
      tools,
      '--queries',
      queries,
      '--misses',
      misses,
      '--json',
      '--searcher',
      'lexical',
    ]
    await evalCommand(fakeTerminal().terminal).parseAsync(flags, { from: 'user' })
    expect(JSON.parse(await readFile(misses, 'utf8'))).toEqual({
      searcher: 'lexical',
      id: '2',
      query: 'quokka',
      relevant: ['c'],
      found: [],
    })
  })
})

describe('the flags of toolcrib eval', () => {
  it('are checked before any server is started', async () => {
    const { terminal, stderr } = fakeTerminal({ cwd: folder, env: { HOME: folder } })
    await file('.mcp.json', [{ mcpServers: { gone: { command: 'no-such-command' } } }])
    const flags = ['--queries', join(folder, 'nowhere.jsonl')]
    const run = evalCommand(terminal).parseAsync(flags, { from: 'user' })
    await expect(run).rejects.toThrow(/cannot read .*nowhere\.jsonl; check the path/)
    expect(stderr()).toBe('')
  })

  const run = async (...flags: string[]) => {
    const files = ['--queries', await file('q.jsonl', [{ id: '1', query: 'weather', relevant: ['a'] }])]
    const tools = ['--tools', await file('t.jsonl', TOOLS)]
    const { terminal, stdout } = fakeTerminal({ cwd: folder })
    await evalCommand(terminal).parseAsync([...tools, ...files, ...flags, '--json'], { from: 'user' })
    return JSON.parse(stdout())
  }

  it('measure the hybrid searcher by default', async () => {
    expect(await run()).toMatchObject({ searcher: 'hybrid', recall: { '1': 1 } })
  })

  it.each(['lexical', 'lexical,lexical', 'lexical,weighted,regex'])(
    'reject comparing %s',
    async (searchers) => {
      await expect(run('--compare', searchers)).rejects.toThrow('two different searchers')
    },
  )

  it('compare two different searchers', async () => {
    expect(await run('--compare', 'lexical,weighted')).toMatchObject({ first: 'lexical', second: 'weighted' })
  })
})

describe('figures', () => {
  it('give a repeatable interval that contains the mean', () => {
    const values = Array.from({ length: 200 }, (_, index) => (index % 4 === 0 ? 0 : 1))
    const [low, high] = confidenceInterval(values)
    expect(low).toBeGreaterThan(0.65)
    expect(low).toBeLessThan(0.75)
    expect(high).toBeGreaterThan(0.75)
    expect(high).toBeLessThan(0.85)
    expect(confidenceInterval(values)).toEqual([low, high])
  })

  it('distinguish a difference from chance', () => {
    expect(signTest(5, 5)).toBe(1)
    expect(signTest(10, 0)).toBeCloseTo(0.002, 3)
    expect(signTest(600, 400)).toBeLessThan(0.001)
  })
})

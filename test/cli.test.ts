import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { runCommandLine } from '../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'toolcrib-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the command line in this process, which takes a tenth of the time of a separate one. */
async function toolcrib(...args: string[]) {
  const { terminal, stdout, stderr } = fakeTerminal({ env: { ...process.env, NO_COLOR: '1' }, cwd: root })
  const status = await runCommandLine(args, terminal)
  return { status, stdout: stdout(), stderr: stderr() }
}

/** Runs the command line as a separate process. */
function startToolcrib(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [inject('commandLine'), ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { status, stdout, stderr }
}

const lines = (name: string, rows: readonly object[]) => {
  const path = join(folder, name)
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'))
  return path
}

describe('toolcrib', () => {
  it('explains its commands', () => {
    const { status, stdout } = startToolcrib('--help')
    expect(status).toBe(0)
    for (const word of ['tour', 'eval', 'Exit codes', 'sets itself up']) expect(stdout).toContain(word)
  })

  it('names the usage error', () => {
    const { status, stderr } = startToolcrib('serach')
    expect(status).toBe(2)
    expect(stderr).toContain("unknown command 'serach'")
  })
})

describe('toolcrib eval', () => {
  const tools = lines('tools.jsonl', [
    {
      id: 'a',
      server: 'git',
      name: 'search',
      description: 'Search the issues of a repository.',
      inputSchema: {},
    },
    { id: 'b', server: 'mail', name: 'search', description: 'Search emails in the inbox.', inputSchema: {} },
    { id: 'c', server: 'mail', name: 'send', description: 'Send an email to somebody.', inputSchema: {} },
  ])
  const queries = lines('queries.jsonl', [
    { id: '1', query: 'issues of a repository', relevant: ['a'] },
    { id: '2', query: 'email', relevant: ['b', 'c'] },
    { id: '3', query: 'zebra', relevant: ['c'] },
  ])

  it('prints its report as JSON, keyed by id, with recall as macro-averaged fractions', () => {
    const flags = ['--tools', tools, '--queries', queries, '--searcher', 'lexical']
    const { status, stdout } = startToolcrib('eval', ...flags, '--json')
    expect(status).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ searcher: 'lexical', tools: 3, queries: 3, mrr: expect.closeTo(2 / 3, 3) })
    expect(report.recall).toEqual({
      '1': expect.closeTo(0.5, 3),
      '3': expect.closeTo(2 / 3, 3),
      '5': expect.closeTo(2 / 3, 3),
      '10': expect.closeTo(2 / 3, 3),
    })
    for (const key of ['ndcg10', 'p50Micros', 'p95Micros', 'indexMs']) expect(report[key]).toBeGreaterThan(0)
    // An index of three tools may be smaller than what a heap varies by.
    expect(report.indexBytes).toEqual(expect.any(Number))
  })

  it('names labels that match no tool, and continues', async () => {
    const mistyped = lines('mistyped.jsonl', [{ id: '1', query: 'email', relevant: ['b', 'bb'] }])
    const { status, stdout, stderr } = await toolcrib(
      'eval',
      '--tools',
      tools,
      '--queries',
      mistyped,
      '--json',
    )
    expect(status).toBe(0)
    expect(stderr).toContain('1 relevant id matches no tool: bb')
    expect(JSON.parse(stdout).recall['5']).toBeCloseTo(0.5)
  })

  it('leaves out distractors with the name of a relevant tool', async () => {
    const distractors = lines('distractors.jsonl', [
      { id: 'd', name: 'send', description: 'Send email email email.', inputSchema: {} },
      { id: 'e', name: 'other', description: 'Something else.', inputSchema: {} },
    ])
    const { stdout } = await toolcrib(
      'eval',
      '--tools',
      tools,
      '--queries',
      queries,
      '--distractors',
      distractors,
      '--searcher',
      'weighted',
      '--json',
    )
    expect(JSON.parse(stdout)).toMatchObject({ searcher: 'weighted', tools: 4 })
  })

  it('names the file and line of invalid content', async () => {
    const broken = join(folder, 'broken.jsonl')
    writeFileSync(broken, '{"id":"a","name":"x","description":"","inputSchema":{}}\n{"id":')
    const { status, stderr } = await toolcrib('eval', '--tools', broken, '--queries', queries)
    expect(status).toBe(2)
    expect(stderr).toContain('broken.jsonl')
    expect(stderr).toContain('2')
    const missing = join(folder, 'none.jsonl')
    expect(await toolcrib('eval', '--tools', missing, '--queries', queries)).toMatchObject({ status: 2 })
    const magic = await toolcrib('eval', '--tools', tools, '--queries', queries, '--searcher', 'magic')
    expect(magic).toMatchObject({ status: 2, stderr: expect.stringContaining('lexical') })
  })
})

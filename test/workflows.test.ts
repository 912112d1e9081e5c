import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, '.github', 'workflows')
const { scripts, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly 'runs-on': string
  readonly 'timeout-minutes': number
  readonly needs?: string | readonly string[]
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> }
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

interface Workflow {
  readonly name: string
  readonly on: unknown
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

/** Parsed as YAML 1.2, strictly: a duplicate key or a tab is an error. */
function read(file: string): Workflow {
  const document = parseDocument(readFileSync(join(FOLDER, file), 'utf8'), { strict: true, uniqueKeys: true })
  expect(document.errors).toEqual([])
  expect(document.warnings).toEqual([])
  return document.toJS()
}

describe.each(readdirSync(FOLDER))('the workflow %s', (file) => {
  const jobs = () => Object.entries(read(file).jobs)

  it('has a name, a trigger, few permissions, and jobs that end', () => {
    const { name, on, permissions } = read(file)
    expect({ name, on }).toEqual({ name: expect.any(String), on: expect.anything() })
    expect(permissions).toEqual({ contents: 'read' })
    for (const [id, job] of jobs()) {
      expect(Object.keys(job).filter((key) => !JOB_KEYS.has(key))).toEqual([])
      expect([id, job['timeout-minutes']]).toEqual([id, expect.any(Number)])
      expect([job.needs ?? []].flat().filter((other) => !(other in read(file).jobs))).toEqual([])
    }
  })

  it('has steps that either use an action of a version or run something', () => {
    for (const { uses, run } of jobs().flatMap(([, job]) => job.steps)) {
      expect([uses, run].filter((each) => each !== undefined)).toHaveLength(1)
      if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w./-]+@(v\d+|[0-9a-f]{40})$/)
    }
  })

  it('runs scripts and files that exist', () => {
    for (const { run = '' } of jobs().flatMap(([, job]) => job.steps)) {
      for (const [, name = ''] of run.matchAll(/npm run (?:--silent )?([\w:-]+)/g))
        expect(scripts).toHaveProperty(name)
      for (const [, path = ''] of run.matchAll(/bash (\S+)/g)) expect(existsSync(join(ROOT, path))).toBe(true)
    }
  })

  it('puts nothing that a stranger writes into a shell, and names only what its matrix has', () => {
    for (const [, job] of jobs()) {
      for (const { run = '' } of job.steps) expect(run).not.toContain('${{')
      const expressions = [...JSON.stringify(job).matchAll(/\$\{\{\s*(.*?)\s*\}\}/g)].map(
        ([, inner = '']) => inner,
      )
      for (const expression of expressions) {
        const [, key] = /^matrix\.(\w+)$/.exec(expression) ?? []
        if (key === undefined) expect(expression).toMatch(/^github\.(token|ref|sha)$/)
        else expect(job.strategy?.matrix).toHaveProperty(key)
      }
    }
  })
})

const JOB_KEYS = new Set([
  'runs-on',
  'timeout-minutes',
  'needs',
  'strategy',
  'permissions',
  'environment',
  'env',
  'steps',
])

it('tests run on every supported version of Node.js and every system', () => {
  const { matrix } = read('ci.yml').jobs.tests?.strategy ?? {}
  expect(matrix).toEqual({ os: ['ubuntu-latest', 'macos-latest', 'windows-latest'], node: [20, 22, 24] })
  expect(engines.node).toBe('>=20.19')
})

it('a release has a provenance statement and a bill of materials', () => {
  const { publish } = read('release.yml').jobs
  expect(publish?.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
  const commands = publish?.steps.map(({ run = '' }) => run) ?? []
  const at = (text: string) => commands.findIndex((command) => command.includes(text))
  expect(at('npm publish --workspaces --provenance')).toBeGreaterThan(at('bash .ci/run'))
  expect(commands[at('npm run --silent bom')]).toContain('toolcrib.cdx.json')
  expect(commands[at('gh release create')]).toContain('toolcrib.cdx.json')
})

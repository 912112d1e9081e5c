import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RegistryOptions, ToolRegistry } from 'toolcrib'
import { createGateway } from 'toolcrib/gateway'
import { openFromConfig } from 'toolcrib/mcp'
import { loadSkills } from 'toolcrib/skills'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectClient } from './gateway.fixture.ts'
import { call, shown, tool } from './helpers.ts'

const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name)
const REVIEW = {
  name: 'reviewing-contracts',
  description: 'Review a contract for risky clauses before it is signed.',
  load: () => 'Read every clause twice.',
  files: { 'scripts/clauses.py': async () => 'print("clauses")' },
}

async function open(options: RegistryOptions = {}) {
  const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', ...options })
  registry.registerAll([
    tool('get_rain', { description: 'Tells how much rain fell in a city.' }),
    tool('send_message', { description: 'Sends a message to a person.' }),
  ])
  registry.registerSkill(REVIEW)
  return { registry, session: await registry.openSession() }
}

const matchesOf = (result: Awaited<ReturnType<typeof call>>) =>
  (result.structured as { matches: { kind: string; name: string }[] }).matches

describe('skills', () => {
  it('are found among tools, and loaded with their files', async () => {
    const { session } = await open()
    const [first] = matchesOf(await call(session, 'tool_search', { query: 'check a contract for risks' }))
    expect(first).toMatchObject({ kind: 'skill', name: 'reviewing-contracts' })
    const { structured } = await call(session, 'tool_search', { query: 'is a contract safe to sign' })
    const { total, matches } = structured as { total: number; matches: { kind: string }[] }
    expect([matches[0]?.kind, matches.length]).toEqual(['skill', total])
    expect(structured).not.toHaveProperty('note')
    expect(structured).not.toHaveProperty('unmatched_terms')
    expect(await call(session, 'load_skill', { name: 'reviewing-contracts' })).toMatchObject({
      ok: true,
      value: expect.stringMatching(/^Read every clause twice\.[\s\S]*scripts\/clauses\.py/),
    })
    const file = { name: 'reviewing-contracts', path: 'scripts/clauses.py' }
    expect(await call(session, 'read_skill_file', file)).toMatchObject({
      ok: true,
      value: 'print("clauses")',
    })
    expect(await call(session, 'read_skill_file', { ...file, path: '../secrets' })).toMatchObject({
      ok: false,
      code: 'input_invalid',
    })
    expect(await call(session, 'load_skill', { name: 'reviewing-contract' })).toMatchObject({
      ok: false,
      error: expect.stringContaining('did you mean "reviewing-contracts"?'),
    })
  })

  it('take no place of a tool, and are neither tools nor callable', async () => {
    const { registry, session } = await open()
    const matches = matchesOf(await call(session, 'tool_search', { query: 'how much rain fell', limit: 1 }))
    expect(matches[0]).toMatchObject({ kind: 'tool', name: 'get_rain' })
    expect(registry.size).toBe(2)
    expect(registry.stats().tool_names).toEqual(['get_rain', 'send_message'])
    const found = await registry.search('contract')
    expect(names(found.matches)).not.toContain('skill__local__reviewing-contracts')
    const called = await call(session, 'call_tool', {
      name: 'skill__local__reviewing-contracts',
      arguments: {},
    })
    expect(called).toMatchObject({ ok: false, code: 'not_available' })
    expect(await call(session, 'skill__local__reviewing-contracts')).toMatchObject({
      ok: false,
      code: 'not_available',
    })
  })

  it('are searched as the model or the host says', async () => {
    const only = async (options: RegistryOptions, args: object) =>
      matchesOf(
        await call((await open(options)).session, 'tool_search', { query: 'review a contract', ...args }),
      ).map(({ kind }) => kind)
    expect(await only({}, { kinds: ['skill'] })).toEqual(['skill'])
    expect(await only({}, { kinds: ['tool'] })).not.toContain('skill')
    expect(await only({ searchKinds: ['tool'] }, {})).not.toContain('skill')
  })

  it('obey the policy, and leave no trace where there are none', async () => {
    const { registry } = await open()
    const denied = await registry.openSession({ policy: { deny: ['skill__*'] } })
    expect(shown(denied)).toEqual(['tool_search'])
    expect(registry.unmatchedPatterns({ policy: { deny: ['skill__*', 'skil__*'] } })).toMatchObject([
      { pattern: 'skil__*' },
    ])
    expect(registry.unregisterSkill('reviewing-contracts')).toBe(true)
    const session = await registry.openSession()
    const plain = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    plain.registerAll(
      [registry.get('get_rain'), registry.get('send_message')].filter((one) => one !== undefined),
    )
    expect(JSON.stringify(session.surface().tools)).toBe(
      JSON.stringify((await plain.openSession()).surface().tools),
    )
  })

  it('are listed by load_skill, and by a search where there are too many', async () => {
    const registry = new ToolRegistry()
    registry.registerSkill(REVIEW)
    expect(shown(await registry.openSession())).toEqual(['load_skill', 'read_skill_file'])
    for (let n = 0; n < 40; n++)
      registry.registerSkill({
        ...REVIEW,
        name: `skill-${n}`,
        description: `Explains topic number ${n} at length.`.repeat(3),
      })
    const surface = (await registry.openSession()).surface().tools
    expect(names(surface)).toContain('tool_search')
    expect(surface.find(({ name }) => name === 'load_skill')?.description).toMatch(
      /and \d+ more: find them with tool_search/,
    )
  })

  it('are checked when they are registered', async () => {
    const { registry } = await open()
    expect(() => registry.registerSkill(REVIEW)).toThrow('there is a skill "reviewing-contracts" already')
    expect(() => registry.registerSkill({ ...REVIEW, name: 'b', desciption: '' } as never)).toThrow(
      'did you mean "description"',
    )
  })
})

describe('folders of skills', () => {
  let folder = ''
  const write = (name: string, text: string, file = 'SKILL.md') => {
    mkdirSync(join(folder, name, 'scripts'), { recursive: true })
    writeFileSync(join(folder, name, file), text)
  }
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-skills-'))
    write(
      'pdf-forms',
      '---\nname: pdf-forms\ndescription: >\n  Fill in\n  PDF forms.\nallowed-tools: Bash\n---\nOpen\u200b the form.',
    )
    write('pdf-forms', 'print(1)', 'scripts/fill.py')
    symlinkSync('/etc/passwd', join(folder, 'pdf-forms', 'stolen'))
    write('other', '---\nname: another\ndescription: x\n---\n')
    write('plain', 'no frontmatter')
    mkdirSync(join(folder, 'empty'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('are read with their files, without hidden characters and links; what is wrong is reported', async () => {
    const skipped: string[] = []
    const [skill, ...others] = await loadSkills([folder, folder], {
      onSkipped: (_path, reason) => skipped.push(reason),
    })
    expect(others).toEqual([])
    expect(skill).toMatchObject({ name: 'pdf-forms', description: 'Fill in PDF forms.' })
    expect(await skill?.load()).toBe('Open the form.')
    expect(Object.keys(skill?.files ?? {})).toEqual(['scripts/fill.py'])
    expect(await skill?.files?.['scripts/fill.py']?.()).toBe('print(1)')
    expect(new Set(skipped)).toEqual(
      new Set([
        'its name is "another", but its folder is "other"',
        'SKILL.md has no frontmatter between lines of ---',
        'an earlier folder has a skill of this name',
      ]),
    )
    expect(await loadSkills(join(folder, 'nowhere'))).toEqual([])
    // A file that becomes a link after it was listed.
    const file = join(folder, 'pdf-forms', 'scripts', 'fill.py')
    rmSync(file)
    symlinkSync('/etc/passwd', file)
    await expect(skill?.files?.['scripts/fill.py']?.()).rejects.toThrow('is a link')
    rmSync(file)
  })

  it.each(['modern', 'legacy'] as const)('are served by the gateway to a %s client', async (era) => {
    const path = join(folder, 'toolcrib.toml')
    writeFileSync(path, `[skills]\npaths = ["."]\n`)
    const { registry, servers, skippedSkills, close } = await openFromConfig({
      path,
      env: { HOME: folder },
      store: false,
    })
    const gateway = createGateway({ registry, servers })
    onTestFinished(() => gateway.close())
    onTestFinished(close)
    expect(await skippedSkills()).toHaveLength(2)
    const client = await connectClient(gateway, { era })
    expect(names((await client.listTools()).tools)).toContain('load_skill')
    const { content } = await client.callTool({ name: 'load_skill', arguments: { name: 'pdf-forms' } })
    expect(JSON.stringify(content)).toContain('Open the form.')
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAgents } from '@toolcrib/mcp/agent-files'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAgent } from './agent-definition.ts'

const agent = (head: string, body = 'Do it well.') => `---\n${head}\n---\n${body}\n`

describe('an agent in Markdown', () => {
  it('is its frontmatter and its prompt', () => {
    const markdown = agent(
      'name: reviewer\ndescription: Reviews code: bugs first.\ntools: read_file, mcp__github__*\nmodel: small\ninherit_active_mcp: false',
      '\n# You review\n\n---\n\nBe fair.',
    )
    expect(parseAgent(markdown)).toEqual({
      name: 'reviewer',
      description: 'Reviews code: bugs first.',
      prompt: '# You review\n\n---\n\nBe fair.',
      tools: ['read_file', 'mcp__github__*'],
      model: 'small',
      inheritActiveMcp: false,
    })
  })

  it('leaves out what it does not say', () => {
    expect(parseAgent(agent('name: a\ndescription: b\nmodel: inherit\ncolor: red'))).toEqual({
      name: 'a',
      description: 'b',
      prompt: 'Do it well.',
    })
  })

  it.each([
    ["[read_file, \"a b\", 'it''s']", ['read_file', 'a b', "it's"]],
    ['\n  - read_file\n  - mcp__x__*   # all of it\n', ['read_file', 'mcp__x__*']],
    ['[]', []],
    ['read_file', ['read_file']],
    ['[\n  read_file,  # to look\n  "a, b",\n]', ['read_file', 'a, b']],
    ['\n- read_file\n- write_file', ['read_file', 'write_file']],
  ])('takes tools written as %s', (written, tools) => {
    expect(parseAgent(agent(`name: a\ndescription: b\ntools: ${written}`)).tools).toEqual(tools)
  })

  it.each([
    ['>\n  Looks things\n  up.', 'Looks things up.'],
    ['>\n  One\n  line.\n\n  Another.\n    code\n  End.', 'One line.\nAnother.\n  code\nEnd.'],
    ['|\n  Looks things\n    up.', 'Looks things\n  up.'],
    ['"Says \\"hi\\"."  # politely', 'Says "hi".'],
    ["'It''s: fine'", "It's: fine"],
    ['Plain # with a comment', 'Plain'],
  ])('takes a description written as %j', (written, description) => {
    expect(parseAgent(agent(`name: a\ndescription: ${written}`)).description).toBe(description)
  })

  it('passes over what stands under keys of others, whatever it is', () => {
    const foreign = [
      'hooks:\n  before:\n    - matcher: Bash\n      run: check',
      'list:\n- a: 1\n  b: 2',
      'meta: { a: 1,\n  b: 2\n}',
      'anchor: &x y',
      'long: words that\n  run on: here',
    ]
    const head = `name: a\n${foreign.join('\n')}\ndescription: b`
    expect(parseAgent(agent(head))).toEqual({ name: 'a', description: 'b', prompt: 'Do it well.' })
  })

  it.each(['null', '~', 'Null  # none', ''])('takes model: %s for none', (written) => {
    expect(parseAgent(agent(`name: a\ndescription: b\nmodel: ${written}`))).not.toHaveProperty('model')
  })

  it('takes a quoted null for a name', () => {
    expect(parseAgent(agent('name: a\ndescription: b\nmodel: "null"')).model).toBe('null')
  })

  it.each([
    ['False', false],
    ['TRUE', true],
  ])('takes inherit_active_mcp: %s', (written, inheritActiveMcp) => {
    const head = `name: a\ndescription: b\ninherit_active_mcp: ${written}`
    expect(parseAgent(agent(head))).toMatchObject({ inheritActiveMcp })
  })

  it('takes fences with spaces behind them', () => {
    expect(parseAgent('--- \nname: a\ndescription: b\n---\t\nDo it.')).toMatchObject({ prompt: 'Do it.' })
  })

  it('takes any text in double quotes for what it is', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (text) => {
        const markdown = agent(`name: a\ndescription: ${JSON.stringify(text)}`)
        expect(parseAgent(markdown).description).toBe(text)
      }),
    )
  })

  it('never fails but by name', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab:-[]{}"\'|>#, \n\t') }), (head) => {
        try {
          parseAgent(agent(`name: a\n${head}`), 'x.md')
        } catch (error) {
          expect(error).toMatchObject({ code: 'config-invalid', message: expect.stringMatching(/^x\.md/) })
        }
      }),
    )
  })

  it('reads files with Windows line ends and a byte order mark', () => {
    const markdown = `\uFEFF${agent('name: a\ndescription: b')}`.replaceAll('\n', '\r\n')
    expect(parseAgent(markdown)).toMatchObject({ name: 'a', description: 'b' })
  })

  it.each([
    ['inherit-active-mcp: false', 'inherit_active_mcp'],
    ['inheritActiveMcp: false', 'inherit_active_mcp'],
    ['inherit_active_mpc: false', 'inherit_active_mcp'],
    ['tool: read_file', 'tools'],
    ['Model: small', 'model'],
  ])('refuses the misspelt key of %s and names the right one', (line, right) => {
    const parse = () => parseAgent(agent(`name: a\ndescription: b\n${line}`), 'x.md')
    expect(parse).toThrow(expect.objectContaining({ code: 'config-invalid' }))
    expect(parse).toThrow(`x.md:4: the key "${line.split(':')[0]}" is unknown; did you mean "${right}"?`)
  })

  it('ignores keys of other programs', () => {
    const head = 'name: a\ndescription: b\nmode: subagent\ncolor: red\npermissionMode: plan\nhooks: x'
    expect(parseAgent(agent(head))).toEqual({ name: 'a', description: 'b', prompt: 'Do it well.' })
  })

  it.each([
    ['no frontmatter at all', /begin the file with a line ---/],
    [agent('description: b'), /no "name"/],
    [agent('name: a'), /no "description"/],
    [agent('name: a\nname: b\ndescription: c'), /x\.md:3: "name" is given twice/],
    [agent('name: a\ndescription: b\ntools:'), /write \[\] for none/],
    [agent('name: a\ndescription: b\ntools: null'), /write \[\] for none/],
    [agent('name: a\ndescription: b\ntools: ~'), /write \[\] for none/],
    [agent('name: a\ndescription: b\ntools:\n  github: all'), /x\.md:5: .*more than text or a list/],
    [agent('name: a\ndescription: b\ninherit_active_mcp: maybe'), /true or false/],
    [agent('name: a\ndescription: { b: c }'), /x\.md:3: .*more than text/],
    [agent('name: a\ndescription: b\ntools: [c'), /x\.md:4: the list does not end/],
    [agent('name: a\n  nested: b'), /x\.md:3: .*not a key/],
    [agent('name: [a]\ndescription: b'), /"name" must be text/],
  ])('refuses %j by its line', (markdown, message) => {
    expect(() => parseAgent(markdown, 'x.md')).toThrow(message)
  })
})

describe('loadAgents', () => {
  it('reads the Markdown files of a folder, by name, and nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolcrib-agents-'))
    await writeFile(join(folder, 'b.md'), agent('name: second\ndescription: x'))
    await writeFile(join(folder, 'a.md'), agent('name: first\ndescription: x'))
    await writeFile(join(folder, 'notes.txt'), 'no agent')
    const names = (await loadAgents(folder)).map(({ name }) => name)
    await writeFile(join(folder, 'c.md'), 'broken')
    const broken = loadAgents(folder)
    await expect(broken).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('c.md'),
    })
    await rm(folder, { recursive: true })
    expect(names).toEqual(['first', 'second'])
    expect(await loadAgents(folder)).toEqual([])
  })
})

import { hybrid, type SessionOptions, type Tool, ToolRegistry } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'
import { staticEmbedder } from 'toolcrib/embedders'
import { describe, expect, it } from 'vitest'
import { ask, call, tool } from './helpers.ts'

const FILES = [
  ['write_file', 'Create a new file or overwrite an existing file with new content.'],
  ['move_file', 'Move or rename files and directories.'],
  ['create_directory', 'Create a new directory or ensure a directory exists.'],
  ['read_text_file', 'Read the complete contents of a file from the file system as text.'],
] as const
const GRAPH = [
  ['create_entities', 'Create multiple new entities in the knowledge graph.'],
  ['add_observations', 'Add new observations to existing entities in the knowledge graph.'],
] as const

/** Words that are somewhat near to these tools, and fit none of them well. */
const POOR = 'jot down a note'

const PATH = { type: 'object', properties: { path: { type: 'string', description: 'Where. '.repeat(40) } } }

async function open(options: SessionOptions = {}, own: readonly Tool[] = []) {
  const registry = new ToolRegistry({ mode: 'lazy', searcher: hybrid({ embedder: staticEmbedder() }) })
  const toolsOf = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, description]) => tool(name, { description, inputSchema: PATH }))
  registry.syncMcp('files', toolsOf(FILES))
  registry.syncMcp('graph', toolsOf(GRAPH))
  registry.registerAll(own)
  return registry.openSession(options)
}

const activeIn = (session: Awaited<ReturnType<typeof open>>) =>
  session.toJSON().activations.map(({ name }) => name)

describe('an answer in which no tool fits well', () => {
  it('lists tools, loads none, evicts none, and says so', async () => {
    const session = await open({ maxActive: 1 })
    await ask(session, 'tool_search', { name: 'move_file' })
    const found = await ask(session, 'tool_search', { query: POOR })
    expect(found).toMatchObject({ activated: [], evicted: [] })
    expect(found.note).toContain('No tool fits well, so none was loaded.')
    expect(found.note).toContain('If one of these will do, load it with tool_search { name }; otherwise ask')
    expect(found).not.toHaveProperty('hint')
    for (const match of found.matches as object[]) {
      expect(match).toMatchObject({ schema: 'short; load with name' })
      expect(match).not.toHaveProperty('parameters')
    }
    expect(activeIn(session)).toEqual(['mcp__files__move_file'])
  })

  it('has tools that a name or a call loads in one step', async () => {
    const session = await open()
    const found = await ask(session, 'tool_search', { query: POOR })
    const [one, other] = (found.matches as { name: string }[]).map(({ name }) => name)
    expect(await ask(session, 'tool_search', { name: one })).toMatchObject({
      activated: true,
      parameters: PATH,
    })
    expect((await call(session, String(other), { path: 'a' })).ok).toBe(true)
    expect(activeIn(session)).toEqual([one, other])
  })

  it('names what is active all the same', async () => {
    const session = await open()
    await ask(session, 'tool_search', { name: 'write_file' })
    const found = await ask(session, 'tool_search', { query: POOR })
    expect(found.activated).toEqual(['mcp__files__write_file'])
    expect(found.note).toContain('so no more were loaded')
  })

  it('says the same in the form of ToolSearch', async () => {
    const session = await open({ searchTool: 'ToolSearch' })
    const found = await ask(session, 'ToolSearch', { query: POOR })
    expect(found).toMatchObject({ query_kind: 'keyword', activated: [] })
    expect(found.note).toContain('If one of these will do, fetch it with select:<name>; otherwise')
    expect(activeIn(session)).toEqual([])
    const [first] = found.matches as { name: string }[]
    await ask(session, 'ToolSearch', { query: `select:${first?.name}` })
    expect(activeIn(session)).toEqual([first?.name])
  })

  it('says how to call one where tools are called through call_tool', async () => {
    const session = await open({ strategy: 'dispatch' })
    const found = await ask(session, 'tool_search', { query: POOR })
    expect(found.activated).toEqual([])
    expect(found.note).toContain('If one of these will do, call it; otherwise')
    const [first] = found.matches as { name: string }[]
    expect((await call(session, 'call_tool', { name: first?.name, arguments: { path: 'a' } })).ok).toBe(true)
  })

  it('says nothing about loading in two steps', async () => {
    const session = await open({ searchStyle: 'two-step' })
    const { note } = await ask(session, 'tool_search', { query: POOR })
    expect(note).toMatch(/^No tool fits well\. .*load it with tool_search \{ name \}/)
  })

  it('stays one on every page', async () => {
    const session = await open()
    const first = await ask(session, 'tool_search', { query: POOR, limit: 1 })
    const second = await ask(session, 'tool_search', { query: POOR, limit: 1, offset: first.next_offset })
    expect(second.matches).toHaveLength(1)
    expect(second.note).toBe(first.note)
    expect(activeIn(session)).toEqual([])
  })

  it('keeps its other matches where definitions replace the answer', async () => {
    const dialect = anthropic()
    const session = await open({ dialect })
    await ask(session, 'tool_search', { name: 'write_file' })
    const response = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'any',
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 's', name: 'tool_search', input: { query: POOR } }],
    } as never
    const results = await session.execute(dialect.toCalls(response, session.surface()))
    const text = JSON.stringify(dialect.toMessages(response, results, session.surface()))
    expect(text).toContain('"tool_name":"mcp__files__write_file"')
    expect(text).toMatch(/not_loaded.*mcp__files__create_directory/)
  })
})

describe('an answer beside tools that are shown anyway', () => {
  const own = tool('take_note', { description: 'Jot down a note.' })

  it('points to the shown tool that fits better', async () => {
    const session = await open({}, [own])
    const found = await ask(session, 'tool_search', { query: POOR })
    expect(found).toMatchObject({ activated: [], already_visible: ['take_note'] })
    expect(found.note).toMatch(/^None of these fits well, so none was loaded; .*already_visible/)
  })

  it('does not call a shown tool fitting that is as poor as the rest', async () => {
    const session = await open({}, [tool('print_page', { description: 'Print a page on paper.' })])
    const found = await ask(session, 'tool_search', { query: POOR })
    expect(found.note).toContain('No tool fits well')
    expect(found).not.toHaveProperty('already_visible')
    expect(found).not.toHaveProperty('hint')
  })
})

describe('a later page', () => {
  it('loads nothing that the first one left out as too weak', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', searcher: 'weighted' })
    registry.syncMcp('chat', [
      tool('send_slack_message', { description: 'Sends a message to a slack channel.' }),
      tool('page_oncall', { description: 'Wakes somebody; can send a text.' }),
    ])
    const session = await registry.openSession()
    const query = 'send slack message channel send_slack_message'
    const first = await ask(session, 'tool_search', { query, limit: 1 })
    const second = await ask(session, 'tool_search', { query, limit: 1, offset: first.next_offset })
    expect(second.matches).toMatchObject([{ name: 'mcp__chat__page_oncall' }])
    expect(second.activated).toEqual([])
    expect(activeIn(session)).toEqual(['mcp__chat__send_slack_message'])
  })

  it('says that there is no more, and not that no tool fits', async () => {
    const session = await open()
    const found = await ask(session, 'tool_search', { query: 'create a directory', offset: 50 })
    expect(found.matches).toEqual([])
    expect(found.hint).toBe(`There is no further match; ${found.total} in all.`)
    expect(found).not.toHaveProperty('note')
  })
})

describe('a search that finds nothing', () => {
  it('has one explanation', async () => {
    const session = await open()
    const miss = await ask(session, 'tool_search', { query: 'asdkjh qwe' })
    expect(miss.note).toMatch(/^No tool fits\. Nothing was found for "asdkjh", "qwe"\. Ask again/)
    expect(miss).not.toHaveProperty('hint')
    expect((await ask(session, 'tool_search', { query: 'select:nope' })).hint).toContain(
      'no tool of that name',
    )
    expect((await ask(session, 'tool_search', { query: '/zebra/' })).hint).toContain('matches this pattern')
  })
})

describe('a search for tools that the model has', () => {
  const query = 'create a new directory'

  it('does not repeat schemas that the list of tools has', async () => {
    const session = await open()
    const first = await ask(session, 'tool_search', { query })
    const again = await ask(session, 'tool_search', { query })
    expect((first.matches as object[])[0]).toMatchObject({ parameters: PATH })
    expect(again.activated).toEqual(first.activated)
    for (const match of again.matches as { name: string }[]) {
      if (!(again.activated as string[]).includes(match.name)) continue
      expect(match).toMatchObject({ schema: 'in your list of tools' })
      expect(match).not.toHaveProperty('parameters')
    }
    expect(JSON.stringify(again).length).toBeLessThan(JSON.stringify(first).length)
  })

  it('repeats them where only answers have them, or other conversations may ask', async () => {
    for (const options of [{ strategy: 'dispatch' }, { searchAgain: 'all' }] as const) {
      const session = await open(options)
      const first = await ask(session, 'tool_search', { query })
      expect(await ask(session, 'tool_search', { query })).toEqual(first)
    }
  })
})

describe('an answer to misspelt words', () => {
  it.each(['tool_search', 'ToolSearch'] as const)('says how %s has read them', async (searchTool) => {
    const session = await open({ searchTool })
    const found = await ask(session, searchTool, { query: 'raed the contents of a flie' })
    expect(found.read_as).toEqual({ raed: 'read', flie: 'file' })
    expect(await ask(session, searchTool, { query: 'move a directory' })).not.toHaveProperty('read_as')
  })
})

describe('an answer is not poor', () => {
  const ISSUES = tool('create_issue', { description: 'Create an issue in a repository', inputSchema: PATH })
  const open = async (servers: readonly string[], options: SessionOptions = {}) => {
    const registry = new ToolRegistry({ mode: 'lazy', searcher: hybrid({ embedder: staticEmbedder() }) })
    for (const server of servers) registry.syncMcp(server, [ISSUES])
    return { registry, session: await registry.openSession(options) }
  }

  it('because several servers have the same tool', async () => {
    const { session } = await open(Array.from({ length: 8 }, (_, at) => `github-${at}`))
    const found = await ask(session, 'tool_search', { query: 'create an issue' })
    expect(found.activated).toContain('mcp__github-0__create_issue')
    expect(found).not.toHaveProperty('note')
  })

  it('because an unapproved server has many tools in the words of the request', async () => {
    const { registry, session } = await open(['github'])
    const flood = Array.from({ length: 60 }, (_, at) =>
      tool(`create_an_issue_${at}`, { description: `Way ${at} to create an issue`, inputSchema: PATH }),
    )
    registry.syncMcp('flood', flood)
    const found = await ask(session, 'tool_search', { query: 'create an issue' })
    expect(found.activated).toContain('mcp__github__create_issue')
    expect(found).not.toHaveProperty('note')
  })

  it('because fewer matches are asked for', async () => {
    const { registry, session } = await open([])
    for (const server of ['sqlite', 'oracle', 'mysql', 'postgres', 'presto', 'db2', 'mssql', 'mariadb'])
      registry.syncMcp(server, [
        tool('list_tables', { description: `Lists the tables of a ${server} database`, inputSchema: PATH }),
      ])
    for (const page of [{ limit: 1 }, { limit: 1, offset: 1 }, { limit: 5 }]) {
      const found = await ask(session, 'tool_search', { query: 'list the tables', ...page })
      expect(found.matches).toHaveLength(page.limit)
      expect((found.activated as string[])[0]).toBe((found.matches as { name: string }[])[0]?.name)
      expect(found).not.toHaveProperty('note')
    }
  })
})

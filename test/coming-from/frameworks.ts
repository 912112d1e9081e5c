import { jsonSchema } from 'ai-v7'
import { defineTool, hybrid, type Listing, type Searcher, ToolRegistry } from 'toolcrib'
import { parseAgent } from 'toolcrib/agent'
import { aiSdk } from 'toolcrib/ai-sdk'
import { toMastraTools } from 'toolcrib/mastra'
import { connectServers } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { expect } from 'vitest'
import { z } from 'zod'
import { ask, call, shown, tool } from '../helpers.ts'
import { caliban } from './caliban.ts'
import { nexo } from './nexo.ts'
import { servers } from './registries.ts'

const SEND = 'mcp__slack__send_message'
const ARGS = { channel: 'a', text: 'b' }

/** Its tools have schemas for the AI SDK. */
const dialect = aiSdk({ jsonSchema })

/** A searcher that finds what was registered last. */
const newest: Searcher = {
  name: 'newest',
  open: () => {
    let listings: readonly Listing[] = []
    return {
      update: (_source, given) => {
        listings = given
      },
      rank: () => {
        const matches = listings.slice(-1).map((listing) => ({ listing, score: 1, reasons: ['newest'] }))
        return { total: matches.length, matches, unmatchedTerms: [] }
      },
    }
  },
}

async function findsNewest() {
  const registry = new ToolRegistry({ searcher: newest })
  registry.registerAll([tool('a'), tool('b')])
  expect((await registry.search('whatever')).matches).toMatchObject([{ name: 'b', reasons: ['newest'] }])
  expect((await registry.search('select:a')).matches).toMatchObject([{ name: 'a' }])
}

async function twoStepsOrOne() {
  const session = await servers({ searchStyle: 'two-step' }).openSession()
  await ask(session, 'tool_search', { query: 'send a message' })
  expect(shown(session)).toEqual(['tool_search'])
  const one = await servers().openSession()
  const { matches } = await ask(one, 'tool_search', { query: 'send a message', limit: 2 })
  expect(matches).toContainEqual(expect.objectContaining({ name: SEND, parameters: expect.any(Object) }))
  expect((matches as object[]).length).toBeLessThanOrEqual(2)
  expect(shown(one)).toContain(SEND)
}

async function survives() {
  const store = memoryStore()
  const registry = servers()
  const session = await registry.openSession({ id: 'thread-1', store })
  await session.activate([SEND])
  await session.close()
  expect(shown(await registry.openSession({ id: 'thread-1', store }))).toEqual(['tool_search', SEND])
  return (await store.get('session:thread-1')) as object
}

async function approvals(options: 'needsApproval' | 'requireApproval') {
  const session = await servers().openSession({ dialect })
  const needsApproval = ({ name }: { readonly name: string }) => name === SEND
  const tools =
    options === 'needsApproval'
      ? dialect.toExecutableTools(session, { needsApproval })
      : toMastraTools(session, { jsonSchema, needsApproval })
  const asks = (tools.call_tool as unknown as Record<string, (input: unknown) => boolean>)[options]
  expect(asks?.({ name: 'send_message', arguments: ARGS })).toBe(true)
  expect(asks?.({ name: 'list_channels', arguments: {} })).toBe(false)
}

export const frameworks = {
  'Claude Code': {
    '`ENABLE_TOOL_SEARCH=auto:10`': () => {
      const isLazy = (contextWindow: number) => {
        const registry = new ToolRegistry({ contextWindow, thresholdPercent: 10 })
        registry.registerMcp(tool('a', { description: 'word '.repeat(200) }), 's')
        return registry.stats().deferred_mode
      }
      expect([isLazy(200_000), isLazy(1_000)]).toEqual([false, true])
    },
    '`ToolSearch` with `select:A,B`, words, `+required`':
      nexo['`ToolSearch` with `select:A,B`, words, `+required`'],
    'MCP tools deferred, its own shown': caliban['`tools.lazy_mcp = true`'],
    '`"alwaysLoad": true` of a server': async () => {
      await caliban['`[server.X] lazy = false`']()
      expect(shown(await servers({ pinned: [SEND] }).openSession())).toEqual([SEND, 'tool_search'])
    },
    WaitForMcpServers: caliban.WaitForMcpServers,
    'tools of a sub-agent': async () => {
      const child = (await servers().openSession()).fork({ tools: ['mcp__slack__*'] })
      expect(child.stats().total_registered).toBe(5)
      const agent = parseAgent('---\nname: a\ndescription: b\ntools: Read, mcp__slack__*\n---\nWork.')
      expect(agent.tools).toEqual(['Read', 'mcp__slack__*'])
    },
  },
  'AI SDK': {
    '`toolSearch({ maxResults: 5, search })`': async () => {
      await twoStepsOrOne()
      await findsNewest()
      await survives()
    },
    'found tools join `tools` in the next step, and the cached prefix is lost':
      caliban['prefix lost on each activation'],
    '`tools` of `generateText` and `streamText`': async () => {
      const session = await servers().openSession({ dialect })
      const before = Object.keys(dialect.toExecutableTools(session))
      await session.activate([SEND])
      const tools = dialect.toExecutableTools(session)
      expect([before, Object.keys(tools)]).toEqual([DISPATCH, DISPATCH])
      const input = { name: SEND, arguments: ARGS }
      expect(await tools.call_tool?.execute(input, { toolCallId: '1' })).toMatchObject({ ok: true })
    },
    '`deferLoading` of a tool': async () => {
      const registry = new ToolRegistry({ mode: 'lazy', defer: 'flagged' })
      registry.register(tool('a', { deferred: true }))
      expect(shown(await registry.openSession())).toEqual(['tool_search'])
      const other = { ...tool('b'), deferLoading: true }
      expect(() => registry.register(other)).toThrow('rename the key to "deferred"')
    },
    '`activeTools`, `prepareStep`': async () => {
      const session = await servers().openSession()
      await ask(session, 'tool_search', { query: 'send a message' })
      expect(shown(session)).toContain(SEND)
    },
    '`needsApproval` of a tool': () => approvals('needsApproval'),
  },
  'LangGraph bigtool': {
    '`tool_registry`: ids to tools': () => {
      const registry = new ToolRegistry()
      registry.registerAll([tool('a'), tool('b')])
      expect(() => registry.register(tool('a'))).toThrow(expect.objectContaining({ code: 'tool-duplicate' }))
      expect(registry.sourceOf('a')).toEqual({ kind: 'builtin' })
    },
    'a vector store over descriptions, with an embedding service': async () => {
      const registry = servers()
      expect((await registry.search('will it rain tomorrow')).matches[0]?.name).toMatch(/weather/)
      expect(registry.searcher.name).toBe('hybrid')
      const embed = (texts: readonly string[]) => texts.map(() => [1, 0])
      const own = hybrid({ embedder: { name: 'mine', dimensions: 2, embed } })
      expect((await registry.search('forecast', { searcher: own })).matches).not.toEqual([])
    },
    '`retrieve_tools`': twoStepsOrOne,
    '`limit=2`': async () => {
      const session = await servers({ searcher: 'lexical' }).openSession()
      const count = async (args: object) =>
        ((await ask(session, 'tool_search', args)).matches as object[]).length
      expect(await count({ query: 'list get search', limit: 2 })).toBe(2)
      expect(await count({ query: 'a repository workspace city' })).toBe(5)
    },
    'a custom `retrieve_tools_function`': findsNewest,
    'tools stay bound for the thread': survives,
  },
  Mastra: {
    '`createTool({ id, inputSchema, execute })`': async () => {
      const inputSchema = z.object({ city: z.string() })
      const draft = {
        name: 'get_rain',
        description: 'Rain.',
        inputSchema,
        execute: ({ city }: { city: string }) => city,
      }
      const registry = new ToolRegistry()
      registry.register(defineTool(draft))
      expect(await call(await registry.openSession(), 'get_rain', { city: 'Oslo' })).toMatchObject({
        value: 'Oslo',
      })
    },
    '`new MCPClient({ servers })`': async () => {
      const registry = new ToolRegistry()
      const connected = connectServers(registry, { mcpServers: { none: { command: 'no-such-program' } } })
      expect(await connected.ready()).toMatchObject([{ server: 'none', state: 'failed' }])
      await connected.close()
      expect(shown(await servers().openSession())).toEqual(['tool_search'])
    },
    '`ToolSearchProcessor({ tools })` with `search_tools` and `load_tool`': twoStepsOrOne,
    '`includeResolvedTools`': async () => {
      const registry = servers()
      registry.register(tool('send_pigeon'))
      const names = (await registry.search('send')).matches.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(['send_pigeon', SEND]))
    },
    '`search: { topK: 5, minScore: 0.1 }`': async () => {
      const session = await servers().openSession()
      const found = await ask(session, 'tool_search', { query: 'send a message', limit: 5 })
      const [matches, activated] = [found.matches as object[], found.activated as string[]]
      expect(activated.length).toBeLessThan(matches.length)
      const { advice } = await servers().search('book a flight to the moon')
      expect(advice).toBeDefined()
    },
    '`ttl` of loaded tools (an hour)': async () => {
      const session = await servers({ maxActive: 1 }).openSession()
      await session.activate([SEND])
      expect(await session.activate(['mcp__slack__add_reaction'])).toMatchObject({ evicted: [SEND] })
    },
    '`requireApproval`': () => approvals('requireApproval'),
    'memory of a thread': async () => {
      expect(Object.keys(await survives())).not.toContain('messages')
    },
  },
}

const DISPATCH = ['tool_search', 'call_tool']

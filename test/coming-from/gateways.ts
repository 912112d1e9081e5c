import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memorySpill, ToolRegistry } from 'toolcrib'
import { createInspector } from 'toolcrib/inspector'
import { compareWithLock, connectServers, lockServers, observeServers } from 'toolcrib/mcp'
import { expect, onTestFinished } from 'vitest'
import { describeProgram } from '../../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { connectClient, openGateway, serveTools, URL_OF_GATEWAY } from '../gateway.fixture.ts'
import { ask, call, shown, tool } from '../helpers.ts'
import { ethos } from './ethos.ts'
import { logicore } from './logicore.ts'
import { changingServer, fromConfig, servers } from './registries.ts'

/** The tools that a client of the gateway sees, and its calls; the server `jira` is real. */
async function client(options: Parameters<typeof openGateway>[1], url = URL_OF_GATEWAY) {
  const jira = await serveTools((server) => {
    const says = (text: string) => async () => ({ content: [{ type: 'text' as const, text }] })
    server.registerTool('list_tickets', { annotations: { readOnlyHint: true } }, says('listed'))
    server.registerTool('create_ticket', {}, says('created'))
  })
  const { gateway } = await openGateway({ jira: { url: jira.url } }, options)
  const connected = await connectClient(gateway, { url })
  const names = async () => (await connected.listTools()).tools.map(({ name }) => name)
  const run = (name: string, args: Record<string, unknown> = {}) =>
    connected.callTool({ name, arguments: args })
  return { names, run }
}

function commandExists(...names: readonly string[]) {
  const known = describeProgram(fakeTerminal().terminal, []).commands.map((command) => command.name())
  expect(known).toEqual(expect.arrayContaining([...names]))
}

export const gateways = {
  mcpproxy: {
    '`retrieve_tools` (BM25)': async () => {
      const { names, run } = await client({ registry: servers() })
      expect(await names()).toContain('tool_search')
      const found = await run('tool_search', { query: 'will it rain' })
      expect(JSON.stringify(found.structuredContent)).toContain('weather__get_forecast')
      const session = await servers().openSession()
      const [answer] = await session.execute([
        { toolCallId: '1', name: 'tool_search', args: { query: 'rain' } },
      ])
      expect(answer?.untrusted).toBeDefined()
    },
    '`github:create_issue`': async () => {
      const { run } = await client({ registry: servers() })
      for (const name of ['jira__create_ticket', 'create_ticket', 'jira.create_ticket'])
        expect(await run(name)).toMatchObject({ content: [{ text: 'created' }] })
    },
    '`call_tool_read`, `_write`, `_destructive`, with `intent` and `args_json`': async () => {
      const { names, run } = await client({ registry: servers() })
      expect(await names()).toEqual(['tool_search', 'call_tool', 'call_read_tool'])
      const read = (name: string) => run('call_read_tool', { name, arguments: {} })
      expect(await read('create_ticket')).toMatchObject({ isError: true })
      expect(await read('list_tickets')).toMatchObject({ content: [{ text: 'listed' }] })
      expect(await run('call_tool', { name: 'create_ticket', arguments: {} })).toMatchObject({
        content: [{ text: 'created' }],
      })
    },
    'routing mode `direct`': async () => {
      const full = new ToolRegistry({ mode: 'full' })
      const own = ['jira__create_ticket', 'jira__list_tickets']
      expect(await (await client({ registry: full })).names()).toEqual(own)
      const profiles = { all: { mode: 'full' as const } }
      const profiled = await client({ registry: servers(), profiles }, `${URL_OF_GATEWAY}/all`)
      expect(await profiled.names()).toHaveLength(17)
    },
    '`code_execution`': async () => {
      expect(shown(await servers().openSession({ strategy: 'dispatch' }))).toEqual([
        'tool_search',
        'call_tool',
      ])
    },
    'quarantine of new servers': async () => {
      const folder = await mkdtemp(join(tmpdir(), 'toolcrib-from-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const config = { servers: { weather: await changingServer(folder) } }
      const registry = new ToolRegistry()
      const connected = connectServers(registry, config)
      onTestFinished(() => connected.close())
      await connected.ready()
      const lockfile = lockServers(await observeServers({ config: config as never, servers: connected }))
      expect(
        compareWithLock(lockfile, await observeServers({ config: config as never, servers: connected })),
      ).toEqual([])
      registry.quarantine('mcp__weather__get_rain', 'changed')
      expect(registry.explain('mcp__weather__get_rain').state).toBe('quarantined')
      expect(registry.explain('mcp__weather__announce').state).not.toBe('quarantined')
      expect((await fromConfig('toolcrib.toml', 'require_lock = true')).config.requireLock).toBe(true)
      commandExists('lock', 'diff', 'approve')
    },
    '`upstream_servers` in `mcp_config.json`': () => commandExists('add', 'enable', 'disable'),
    'web UI': async () => {
      const { gateway, registry, servers: connected } = await openGateway({}, { registry: servers() })
      const inspector = createInspector({ registry, servers: connected, access: gateway.access })
      onTestFinished(() => inspector.close())
      const api = await inspector.fetch(new Request('http://localhost/api/overview'))
      expect(api.status).toBe(403)
      commandExists('serve')
    },
    'tool response truncation, `read_cache`': ethos['truncated output is lost'],
  },
  FastMCP: {
    '`@mcp.tool` on a function': logicore['`register_tool_from_function(fn)`'],
    '`FastMCP.as_proxy(config)`, `mount(server, prefix)`':
      logicore['`MCPAgent(mcp_config_path="mcp.json")`, `init_mcp_servers()`'],
    '`include_tags`, `exclude_tags`, `enabled=False`': async () => {
      const lines =
        '[server.x]\ncommand = "none"\nallow = ["list_*"]\ndeny = ["list_all"]\npinned = ["list_one"]'
      const profile =
        '[profile.p]\nallow = ["mcp__*__list_*"]\ndeny = ["mcp__x__*"]\npinned = ["mcp__y__list"]'
      const { config } = await fromConfig('toolcrib.toml', `${lines}\n${profile}`)
      expect(config.servers.x).toMatchObject({ allow: ['list_*'], deny: ['list_all'], pinned: ['list_one'] })
      expect(config.profiles?.p).toMatchObject({ pinned: ['mcp__y__list'] })
    },
    '`BM25SearchTransform`, `RegexSearchTransform`': async () => {
      expect(shown(await servers().openSession())).toEqual(['tool_search'])
      await logicore['`tool_search_regex`']()
    },
    'its `search_tools` and `call_tool`': async () => {
      const session = await servers({ strategy: 'dispatch' }).openSession()
      expect(shown(session)).toEqual(['tool_search', 'call_tool'])
      expect(await call(session, 'call_tool', { name: 'list_channels', arguments: {} })).toMatchObject({
        ok: true,
      })
    },
    '`always_visible`, `max_results`': async () => {
      const session = await servers({ pinned: ['*get_alerts'] }).openSession()
      expect(shown(session)).toEqual(['mcp__weather__get_alerts', 'tool_search'])
      expect((await ask(session, 'tool_search', { query: 'list', limit: 1 })).matches).toHaveLength(1)
    },
    '`Middleware.on_call_tool`': async () => {
      const seen: string[] = []
      const hooks = {
        before_tool_call: ({ name }: { name: string }) => void seen.push(`before ${name}`),
        after_tool_call: ({ name }: { name: string }) => void seen.push(`after ${name}`),
      }
      const session = await servers({ strategy: 'dispatch', hooks }).openSession()
      await call(session, 'call_tool', { name: 'list_channels', arguments: {} })
      expect(seen).toEqual(['before mcp__slack__list_channels', 'after mcp__slack__list_channels'])
    },
    '`ctx.report_progress`': async () => {
      const registry = new ToolRegistry({ spill: memorySpill() })
      registry.register(
        tool('slow', {
          execute: (_, { onProgress }) => {
            onProgress?.({ progress: 1, total: 2 })
            return onProgress === undefined ? 'unheard' : 'heard'
          },
        }),
      )
      const session = await registry.openSession()
      const notes: unknown[] = []
      const calls = [{ toolCallId: '1', name: 'slow', args: {} }]
      const [heard] = await session.execute(calls, { onProgress: (note) => notes.push(note) })
      expect([heard?.result, notes]).toMatchObject([{ value: 'heard' }, [{ progress: 1, total: 2 }]])
      expect(await call(session, 'slow')).toMatchObject({ value: 'unheard' })
    },
  },
}

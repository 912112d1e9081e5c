import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../../packages/core/src/store/memory-store.ts'
import type { ToolResult } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import {
  type ConnectedServers,
  type ConnectOptions,
  connectServers,
  type McpEvent,
} from '../../packages/mcp/src/index.ts'
import { fileStore } from '../../packages/mcp/src/stores/file-store.ts'
import { referenceServer, script } from './reference-servers.fixture.ts'

describe('published servers over stdio', () => {
  let directory = ''
  let registry = new ToolRegistry()
  let servers: ConnectedServers | undefined
  let events: McpEvent[] = []

  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'toolcrib-mcp-')))
    registry = new ToolRegistry()
    events = []
  })

  afterEach(async () => {
    await servers?.close()
    await rm(directory, { recursive: true, force: true })
  })

  function connect(mcpServers: Record<string, unknown>, options: ConnectOptions = {}): ConnectedServers {
    servers = connectServers(registry, { mcpServers }, { onEvent: (event) => events.push(event), ...options })
    return servers
  }

  async function call(name: string, args: unknown, signal?: AbortSignal): Promise<ToolResult> {
    const context = { sessionId: 's', ...(signal ? { signal } : {}) }
    const [answer] = await registry.executeParallel([{ toolCallId: 'c', name, args }], context)
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  it('connects four servers at once and calls tools of each', async () => {
    const statuses = await connect({
      everything: script(referenceServer('everything')),
      files: script(referenceServer('filesystem'), directory),
      memory: {
        ...script(referenceServer('memory')),
        env: { MEMORY_FILE_PATH: join(directory, 'memory.json') },
      },
      thinking: script(referenceServer('sequential-thinking')),
    }).ready()
    expect(statuses.map(({ server, state }) => [server, state])).toEqual([
      ['everything', 'ready'],
      ['files', 'ready'],
      ['memory', 'ready'],
      ['thinking', 'ready'],
    ])

    expect(await call('mcp__everything__echo', { message: 'hi' })).toMatchObject({
      ok: true,
      value: 'Echo: hi',
    })

    await writeFile(join(directory, 'a.txt'), 'rain at noon')
    const read = await call('mcp__files__read_text_file', { path: join(directory, 'a.txt') })
    expect(read).toMatchObject({ ok: true, value: 'rain at noon' })
    const outside = await call('mcp__files__read_text_file', { path: '/etc/hostname' })
    expect(outside).toMatchObject({ ok: false, code: 'execution_failed' })

    const entity = { name: 'Ada', entityType: 'person', observations: ['counts'] }
    await call('mcp__memory__create_entities', { entities: [entity] })
    expect(await readFile(join(directory, 'memory.json'), 'utf8')).toContain('Ada')
    const graph = await call('mcp__memory__read_graph', {})
    expect(graph).toMatchObject({ ok: true, structured: { entities: [{ name: 'Ada' }] } })

    const thought = await call('mcp__thinking__sequentialthinking', {
      thought: 'first',
      nextThoughtNeeded: false,
      thoughtNumber: 1,
      totalThoughts: 1,
    })
    expect(thought).toMatchObject({ ok: true, structured: { thoughtNumber: 1 } })
  })

  it('returns texts, images, resources, links and structured content unchanged', async () => {
    await connect({ everything: script(referenceServer('everything')) }).ready()

    const image = await call('mcp__everything__get-tiny-image', {})
    expect(image).toMatchObject({
      ok: true,
      content: [{ type: 'text' }, { type: 'image', mimeType: 'image/png' }, {}],
    })

    const resource = await call('mcp__everything__get-resource-reference', {
      resourceType: 'Text',
      resourceId: 1,
    })
    expect(resource.ok && resource.content?.map(({ type }) => type)).toContain('resource')

    const links = await call('mcp__everything__get-resource-links', { count: 2 })
    expect(links.ok && links.content?.filter(({ type }) => type === 'resource_link')).toHaveLength(2)

    const weather = await call('mcp__everything__get-structured-content', { location: 'New York' })
    expect(weather).toMatchObject({ ok: true, structured: { temperature: expect.any(Number) } })
    expect(weather.ok && JSON.parse(weather.value)).toEqual(weather.ok && weather.structured)
  })

  it('reports the progress of a call, and cancels it on the server', async () => {
    await connect({ everything: script(referenceServer('everything')) }).ready()
    await call('mcp__everything__trigger-long-running-operation', { duration: 0.2, steps: 2 })
    const progress = events.filter(({ type }) => type === 'call-progress')
    expect(progress).toMatchObject([{ progress: 1, total: 2 }, { progress: 2 }])

    const abort = new AbortController()
    const long = call(
      'mcp__everything__trigger-long-running-operation',
      { duration: 60, steps: 60 },
      abort.signal,
    )
    await call('mcp__everything__echo', { message: 'beside it' })
    abort.abort()
    expect(await long).toMatchObject({ ok: false, code: 'cancelled' })
    expect(await call('mcp__everything__echo', { message: 'after it' })).toMatchObject({ ok: true })
  })

  it('caches the catalogue of a server, so that its process starts with the first call', async () => {
    const config = { everything: script(referenceServer('everything')) }
    const options = { store: fileStore({ directory: join(directory, 'store') }) }
    await connect(config, options).ready()
    const before = registry.listSchemas()
    await servers?.close()
    expect(registry.size).toBe(0)
    events = []

    expect(await connect(config, options).ready()).toEqual([{ server: 'everything', state: 'cold' }])
    expect(registry.listSchemas()).toEqual(before)
    const answers = await Promise.all(
      [1, 2, 3].map((n) => call('mcp__everything__echo', { message: `${n}` })),
    )
    expect(answers.map((answer) => answer.ok && answer.value)).toEqual(['Echo: 1', 'Echo: 2', 'Echo: 3'])
    expect(events.filter((event) => event.type === 'server-state').map(({ state }) => state)).toEqual([
      'connecting',
      'cold',
      'connecting',
      'ready',
    ])
  })

  it('restarts the one server whose config changed', async () => {
    const everything = script(referenceServer('everything'))
    await connect({ one: everything, two: everything, three: everything }).ready()
    events = []
    await servers?.reload({ mcpServers: { one: everything, two: { ...everything, allow: ['echo'] } } })
    await servers?.ready()
    // Definitions are compared with those of other servers in the background.
    const changes = events.filter(({ type }) => type !== 'tool-suspicious')
    expect(new Set(changes.map(({ server }) => server))).toEqual(new Set(['two']))
    expect(registry.listSchemas().filter(({ mcpServer }) => mcpServer === 'two')).toHaveLength(1)
    expect(registry.has('mcp__three__echo')).toBe(false)
    expect(await call('mcp__one__echo', { message: 'x' })).toMatchObject({ ok: true })
  })

  it('does not let a failing server delay or hide another', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const key = '${TOOLCRIB_TEST_UNSET}'
    const statuses = await connect({
      good: script(referenceServer('everything')),
      missing: { command: 'no-such-command-anywhere' },
      unset: { command: 'node', env: { KEY: key } },
    }).ready()
    expect(statuses[0]).toEqual({ server: 'good', state: 'ready' })
    expect(statuses[1]).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('not found; install it'),
    })
    expect(statuses[2]).toMatchObject({ reason: expect.stringContaining('TOOLCRIB_TEST_UNSET has no value') })
    expect((await registry.search('echo')).servers).toHaveLength(2)
  })

  it.each([['legacy'], ['modern']] as const)(
    'greets a silent server of the %s era within one deadline',
    async (era) => {
      const starts = join(directory, 'starts')
      const silent = { command: 'sh', args: ['-c', `echo started >> ${starts}; exec sleep 100`] }
      const info = { era, protocolVersion: '', capabilities: {} }
      const store = memoryStore()
      const get = async (key: string) =>
        key.startsWith('catalogue:') ? { version: 2, tools: [], info } : undefined
      const [status] = await connect(
        { silent: { ...silent, start: 'eager', connect_timeout_ms: 500 } },
        { store: Object.assign(store, { get }) },
      ).ready()
      expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('within 500 ms') })
      expect(await readFile(starts, 'utf8')).toBe('started\n')
    },
  )

  it('gives a server only its own few variables', async () => {
    const everything = { ...script(referenceServer('everything')), env: { OWN: 'yes' } }
    await connect({ everything }, { env: { ...process.env, HOST_SECRET: 'no' } }).ready()
    const result = await call('mcp__everything__get-env', {})
    expect(result).toMatchObject({ ok: true, value: expect.stringContaining('"OWN": "yes"') })
    expect(result.ok && result.value).not.toContain('HOST_SECRET')
  })

  it('shows no configured value that a server prints before it ends', async () => {
    const leaky = {
      command: '/bin/sh',
      args: ['-c', 'echo "bad key $KEY, not ghp_0123456789abcdefghijABCDEFGHIJ012345" >&2; exit 1'],
      env: { KEY: 'hunter2hunter2' },
    }
    const [status] = await connect({ leaky }).ready()
    expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('bad key (KEY)') })
    const line = 'bad key (KEY), not •••'
    expect(events).toContainEqual(expect.objectContaining({ type: 'server-output', line }))
    expect(JSON.stringify([status, events])).not.toContain('hunter2')
  })

  it('gives a server the proxies and certificates of a network, but no password in an address', async () => {
    const passedOn = {
      HTTP_PROXY: 'http://proxy.example.com:8080',
      https_proxy: 'proxy.example.com:8080',
      NO_PROXY: 'localhost,.example.com',
      NODE_EXTRA_CA_CERTS: '/opt/openssl@3/company.pem',
      SSL_CERT_FILE: '/etc/company.pem',
      SSL_CERT_DIR: '/etc/certificates',
      npm_config_registry: 'https://npm.example.com/',
      npm_config_cafile: '/etc/company.pem',
    }
    const keptBack = {
      HTTPS_PROXY: 'http://ada:hunter2@proxy.example.com:8080',
      http_proxy: 'ada:hunter2@proxy.example.com:8080',
      ALL_PROXY: 'socks5://hunter2@proxy.example.com',
      NPM_CONFIG_REGISTRY: 'https://npm.example.com/?token=hunter2',
      PIP_INDEX_URL: 'https://pip.example.com/hunter2/simple',
      UV_INDEX_URL: 'https://pip.example.com/hunter2/simple',
      npm_config__authToken: 'hunter2',
    }
    const env = { PATH: process.env.PATH, ...passedOn, ...keptBack }
    await connect({ everything: script(referenceServer('everything')) }, { env }).ready()
    const result = await call('mcp__everything__get-env', {})
    const seen = JSON.parse(result.ok ? result.value : '{}')
    expect(seen).toMatchObject(passedOn)
    expect(Object.keys(keptBack).filter((name) => name in seen)).toEqual([])
    expect(JSON.stringify(seen)).not.toContain('hunter2')
  })
})

import { existsSync } from 'node:fs'
import { ToolRegistry } from 'toolcrib'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { operatorTokenOf, useServe } from './serve.fixture.ts'

vi.setConfig({ testTimeout: 60_000 })

const { path, toolcrib, start, write, list, server } = useCommandLine()
const serve = useServe({ start })

const DELETE = { name: 'delete_repo', description: 'Deletes a repository.', inputSchema: { type: 'object' } }
const READ = { name: 'get_repo', description: 'Shows a repository.', inputSchema: { type: 'object' } }
/** Every way in which this product prints or accepts the name of a tool, and the likely slips. */
const SPELLINGS = [
  'mcp__github__delete_repo',
  'github__delete_repo',
  'github.delete_repo',
  'delete_repo',
  'GitHub.Delete_Repo',
  'GITHUB__DELETE_REPO',
  'deleteRepo',
  'delete-repo',
  'github.delete_*',
  'delete_*',
  'mcp__*__delete_*',
  'github delete repo',
]
const CALLS = [
  'github__delete_repo',
  'mcp__github__delete_repo',
  'github.delete_repo',
  'delete_repo',
  'Delete-Repo',
]

describe('a denied tool', () => {
  beforeEach(() => list(DELETE, READ))

  it.each(SPELLINGS)('does not run through the gateway, whatever the call: %s', async (pattern) => {
    const levels = {
      registry: { registry: new ToolRegistry({ policy: { deny: [pattern] } }) },
      profile: { profiles: { work: { deny: [pattern] } } },
      server: {},
    }
    for (const [level, options] of Object.entries(levels)) {
      const github = { ...server(), ...(level === 'server' ? { deny: [pattern] } : {}) }
      const { gateway, registry } = await openGateway({ github }, { mode: 'lazy', ...options })
      const url = `http://localhost/mcp${level === 'profile' ? '/work' : ''}`
      const client = await connectClient(gateway, { url })
      for (const name of CALLS) {
        const direct = await client.callTool({ name, arguments: {} }).catch((error) => error)
        const dispatched = await client.callTool({ name: 'call_tool', arguments: { name, arguments: {} } })
        expect([direct.isError ?? direct instanceof Error, dispatched.isError], `${level} ${name}`).toEqual([
          true,
          true,
        ])
      }
      expect(registry.has('mcp__github__get_repo')).toBe(true)
      const shown = await client.callTool({ name: 'github__get_repo', arguments: {} })
      expect(shown.isError).not.toBe(true)
    }
    expect(existsSync(path('tools.json.called'))).toBe(true)
  })

  it('stays denied however its server spells it', async () => {
    const names = [
      'Delete_repo',
      'delete-repo',
      'd\u0435lete_repo',
      'deleteRepo',
      'DELETE_REPO',
      'de1ete_repo',
    ]
    list(...names.map((name) => ({ ...DELETE, name })), READ)
    const registry = new ToolRegistry({ mode: 'full', policy: { deny: ['delete_*'] } })
    const { gateway } = await openGateway({ github: server() }, { registry, mode: 'full' })
    const { tools } = await (await connectClient(gateway)).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['github__get_repo'])
  })

  it('takes no other tool of a server with it that is named like a meta-tool', async () => {
    list({ ...READ, name: 'read_result' })
    const { gateway } = await openGateway({ github: server() }, { mode: 'full' })
    const { tools } = await (await connectClient(gateway)).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['github__read_result'])
  })
})

describe('a rule that matches no tool', () => {
  beforeEach(() => list(DELETE, READ))

  const configureRules = () => {
    const { command, args } = server()
    write(
      'toolcrib.toml',
      `[tools]
      deny = ["github.delet_repo", "github.get_*"]
      [server.github]
      command = ${JSON.stringify(command)}
      args = ${JSON.stringify(args)}
      allow = ["*_repo", "list_repos"]
      [profile.work]
      pinned = ["github__get_repos"]`,
    )
  }

  it('is reported by doctor, and makes it fail with --strict', async () => {
    configureRules()
    const told = await toolcrib('doctor')
    expect(told.status).toBe(0)
    expect(told.stdout).toContain(
      '[tools] deny: "github.delet_repo" matches no tool; did you mean "github.delete_repo"?',
    )
    expect(told.stdout).toContain('[server.github] allow: "list_repos" matches no tool')
    expect(told.stdout).toContain('[profile.work] pinned: "github__get_repos" matches no tool')
    expect(told.stdout).not.toContain('get_*')
    const strict = await toolcrib('doctor', '--strict', '--json')
    expect(strict.status).toBe(1)
    expect(strict.json()).toMatchObject({
      healthy: false,
      unmatched: [{ pattern: 'github.delet_repo' }, {}, {}],
    })
  })

  it('is not certain while a server that may have it is missing', async () => {
    write(
      'toolcrib.toml',
      `[tools]
      deny = ["drop_table", "github.drop"]
      [server.github]
      command = ${JSON.stringify(server().command)}
      args = ${JSON.stringify(server().args)}
      [server.gone]
      command = "no-such-command-anywhere"`,
    )
    const found = await toolcrib('doctor', '--json')
    expect(found.json().unmatched).toMatchObject([
      { pattern: 'drop_table', unknown: ['gone'] },
      { pattern: 'github.drop', unknown: [] },
    ])
  })

  it('is reported by serve, and refused with --strict', async () => {
    configureRules()
    const { child, url, page } = await serve()
    const noted = new Promise<string>((resolve) => {
      let text = ''
      child.stderr?.on('data', (chunk: Buffer) => {
        text += chunk
        if (text.includes('delet_repo')) resolve(text)
      })
    })
    expect(await noted).toContain('[tools] deny: "github.delet_repo" matches no tool')
    const headers = { authorization: `Bearer ${operatorTokenOf(page)}` }
    const overview = await fetch(new URL('/api/waiting', url), { headers })
    expect(await overview.json()).toContainEqual(
      expect.objectContaining({ kind: 'pattern', step: expect.stringContaining('"github.delet_repo"') }),
    )
    const { ended } = start(['serve', '--port', '0', '--json', '--strict'])
    expect(await ended).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"github.delet_repo" matches no tool'),
    })
  })

  it('is an event of the library, once per list', async () => {
    const events: unknown[] = []
    const registry = new ToolRegistry({ policy: { deny: ['delete_repo', 'tool_search', 'remove_*'] } })
    registry.subscribe((event) => event.type === 'pattern-unmatched' && events.push(event))
    registry.syncMcp('github', [{ ...DELETE, inputSchema: {}, execute: () => ({ ok: true, value: '' }) }])
    await registry.openSession({ id: 'a' })
    await registry.openSession({ id: 'b' })
    await registry.openSession({ id: 'c', pinned: ['github.delete_repos'] })
    expect(events).toMatchObject([
      { list: 'deny', pattern: 'remove_*', sessionId: 'a' },
      { list: 'deny', pattern: 'remove_*', sessionId: 'c' },
      { list: 'pinned', pattern: 'github.delete_repos', nearest: 'mcp__github__delete_repo' },
    ])
  })
})

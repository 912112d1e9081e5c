import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'

const { path, toolcrib } = useCommandLine()

const SERVERS: Readonly<Record<string, object>> = {
  'io.github.owner/notes': {
    name: 'io.github.owner/notes',
    packages: [
      { registryType: 'mcpb', identifier: 'https://example.com/notes.mcpb', transport: { type: 'stdio' } },
      {
        registryType: 'npm',
        identifier: '@owner/notes',
        version: '1.2.3',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'named', name: '--mode', value: 'read' }, { type: 'positional' }],
        environmentVariables: [{ name: 'NOTES_KEY', isRequired: true }, { name: 'NOTES_COLOR' }],
      },
    ],
  },
  'com.example/remote': {
    remotes: [
      {
        type: 'streamable-http',
        url: 'https://example.com/mcp',
        headers: [{ name: 'X-Api-Key', isRequired: true }],
      },
    ],
  },
  'com.example/nothing': {},
}

const registry = createServer((request, response) => {
  const name = /^\/v0\.1\/servers\/([^/]+)\/versions\/latest$/.exec(request.url ?? '')?.[1]
  const server = SERVERS[decodeURIComponent(name ?? '')]
  response.statusCode = server ? 200 : 404
  response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify(server ? { server, _meta: {} } : {}))
})
let address = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
})
afterAll(() => void registry.close())

const config = () => readFileSync(path('toolcrib.toml'), 'utf8')

it('shows what a server of a registry runs, and adds nothing before that is wanted', async () => {
  const shown = await toolcrib('add', 'io.github.owner/notes', '--registry', address)
  expect(shown).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('nothing was added; add it with --yes'),
  })
  expect(shown.stderr).toContain('runs: npx -y @owner/notes@1.2.3 --mode read')
  expect(shown.stderr).toContain('it needs a value for NOTES_KEY')
  expect((await toolcrib('add', 'io.github.owner/notes', '--registry', address, '--yes')).status).toBe(0)
  expect(config()).toContain('[server.notes]')
  expect(config()).toContain('"@owner/notes@1.2.3"')
  expect(config()).toContain('NOTES_KEY = "${NOTES_KEY}"')
  expect(config()).not.toContain('NOTES_COLOR')
})

it('takes its address in a registry, and one that runs elsewhere', async () => {
  const place = `${address}/v0.1/servers/${encodeURIComponent('com.example/remote')}`
  expect((await toolcrib('add', place, '--yes')).status).toBe(0)
  expect(config()).toContain('[server.remote]')
  expect(config()).toContain('X-Api-Key = "${X_API_KEY}"')
})

it('says what is wrong with a name, an entry or a registry', async () => {
  const problem = async (...args: string[]) => (await toolcrib('add', ...args, '--yes')).stderr
  expect(await problem('com.example/none', '--registry', address)).toContain(
    'has no server "com.example/none" (status 404)',
  )
  expect(await problem('com.example/nothing', '--registry', address)).toContain('add it with its command')
  expect(await problem('com.example/none', '--registry', 'http://127.0.0.1:9')).toContain('cannot be reached')
  expect(await problem('notes')).toContain('give the command that starts the server')
})

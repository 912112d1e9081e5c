import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'
import { MODERN_SERVER } from './mcp/reference-servers.fixture.ts'
import { useServe } from './serve.fixture.ts'

vi.setConfig({ testTimeout: 60_000 })

const { toolcrib, start, write, path } = useCommandLine()
const serve = useServe({ start })

it('a call that waits is told to on_ask, approved at a terminal, and revoked there', async () => {
  write(
    'toolcrib.toml',
    `[tools]
ask = ["modern.add"]
[gateway]
audit = "arguments"
on_ask = "cat > asked.json"
[gateway.limits]
ask_wait_ms = 200
[server.modern]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([MODERN_SERVER])}
`,
  )
  const { url, token } = await serve()
  const client = new Client(
    { name: 'tests', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  onTestFinished(() => client.close())
  const add = () => client.callTool({ name: 'modern__add', arguments: { a: 40, b: 2 } })

  const byHand = await toolcrib('call', 'modern.add', 'a=1', 'b=2')
  expect(byHand).toMatchObject({ status: 1, stderr: expect.stringContaining('add --yes') })
  expect((await toolcrib('call', 'modern.add', 'a=1', 'b=2', '--yes')).stdout).toContain('3')

  expect((await toolcrib('approve-call')).stdout).toBe('no call waits for your approval\n')
  expect(await add()).toMatchObject({ isError: true })
  await vi.waitUntil(() => existsSync(path('asked.json')), { timeout: 10_000 })
  expect(JSON.parse(readFileSync(path('asked.json'), 'utf8'))).toMatchObject({ tool: 'mcp__modern__add' })
  const [waiting] = (await toolcrib('approve-call', '--json')).json().pending
  expect(waiting).toMatchObject({ tool: 'mcp__modern__add', args: { a: 40, b: 2 }, client: 'tests' })
  expect((await toolcrib('approve-call')).stdout).toContain('"a": 40')
  expect((await toolcrib('approve-call', 'ZZZZ')).stderr).toContain('no call with the id "ZZZZ" is waiting')
  expect((await toolcrib('approve-call', waiting.id, '--deny', '--always')).status).toBe(2)

  expect((await toolcrib('approve-call', waiting.id, '--always')).stdout).toBe(
    'allowed mcp__modern__add of modern, as long as its definition stays the same\n',
  )
  expect(JSON.stringify(await add())).toContain('42')
  const own = () => readFileSync(path('home', '.config', 'toolcrib', 'toolcrib.toml'), 'utf8')
  expect(own()).toMatch(/^\[tools\.allow_unasked\]\nmcp__modern__add = "[0-9a-f]{64}"/)
  const { grants } = (await toolcrib('grants', '--json')).json()
  expect(grants).toMatchObject([{ kind: 'always', tool: 'mcp__modern__add' }])
  expect((await toolcrib('grants')).stdout).toContain('mcp__modern__add always, until its definition changes')
  expect((await toolcrib('grants', 'revoke', 'zzz')).status).not.toBe(0)
  expect((await toolcrib('grants', 'revoke', grants[0].id.slice(0, 8))).stdout).toBe('revoked 1 grant\n')
  expect(own()).not.toContain('mcp__modern__add')
  expect(await add()).toMatchObject({ isError: true })

  const calls = (await toolcrib('audit', '--json')).stdout.trim().split('\n')
  expect(calls.map((line) => JSON.parse(line))).toMatchObject([
    {
      client: 'tests',
      tool: 'mcp__modern__add',
      arguments: { a: 40, b: 2 },
      decision: 'none',
      outcome: 'denied',
    },
    { decision: 'always', by: 'user', outcome: 'ok' },
    { decision: 'none', outcome: 'denied' },
  ])
  expect((await toolcrib('audit', '--since', '1h')).stdout).toMatch(
    /tests modern\.add ok always allowed by user \{"a":40,"b":2\}/,
  )
  expect((await toolcrib('audit', '--since', '2999-01-01')).stdout).toContain('no call was recorded')
  expect((await toolcrib('audit', '--since', 'noon')).status).toBe(2)
  expect((await toolcrib('audit', '--verify')).stdout).toMatch(/^4 lines in .*: nothing was changed\n$/)
  const { folder } = (await toolcrib('audit', '--verify', '--json')).json()
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const kept = readFileSync(join(folder, file), 'utf8')
  writeFileSync(join(folder, file), kept.replace('"a":40', '"a":4'))
  expect(await toolcrib('audit', '--verify')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('line 2: was changed or added'),
  })
})

it('audit says how to switch it on, and a misspelt value is refused', async () => {
  write('toolcrib.toml', '[server.modern]\ncommand = "node"\n')
  expect(await toolcrib('audit')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('audit = "on"'),
  })
  write('toolcrib.toml', '[gateway]\naudit = "requird"\n[server.modern]\ncommand = "node"\n')
  expect(await toolcrib('audit')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('one of off, on'),
  })
})

import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogRecord, logs, SeverityNumber } from '@opentelemetry/api-logs'
import { ToolRegistry } from 'toolcrib'
import { createGateway, type Gateway, type GatewayOptions, readAudit, verifyAudit } from 'toolcrib/gateway'
import { createInspector } from 'toolcrib/inspector'
import { connectServers } from 'toolcrib/mcp'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { connectClient } from './gateway.fixture.ts'

let ran: string[] = []
let directory = ''
beforeEach(() => {
  ran = []
  directory = mkdtempSync(join(tmpdir(), 'toolcrib-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
})

/** A gateway that records its calls; `wipe` asks before, and `look` does not. */
function workshop(
  audit: Partial<GatewayOptions['audit'] & object> = {},
  more: Partial<GatewayOptions> = {},
): Gateway {
  const registry = new ToolRegistry({ policy: { ask: ['wipe'], deny: ['forbidden'] } })
  const inputSchema = { type: 'object', properties: { disk: { type: 'string' }, token: { type: 'string' } } }
  for (const name of ['wipe', 'look', 'forbidden'])
    registry.registerFunction(({ disk }: { disk: string }) => void ran.push(`${name} ${disk}`), {
      ...{ name, description: `Does ${name}.`, inputSchema, preload: true },
    })
  registry.registerFunction(() => Promise.reject(new Error('no power')), {
    name: 'fail',
    description: 'Fails.',
    deferred: true,
  })
  const gateway = createGateway({
    registry,
    limits: { askWaitMs: 20 },
    audit: { directory, ...audit },
    ...more,
  })
  onTestFinished(() => gateway.close())
  return gateway
}

const files = () => readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
const call = (name: string, disk = 'a', more = {}) => ({ name, arguments: { disk, ...more } })

describe.each(['modern', 'legacy'] as const)('the record of what a %s client calls', (era) => {
  it('has one line for each call, directly and through call_tool: who, what, whose decision and the outcome', async () => {
    const token = 'a-token-of-ada-123'
    const tokens = [{ name: 'ada', token }]
    const gateway = workshop({}, { tokens, mode: 'lazy', profiles: { work: {} } })
    const capabilities = { elicitation: { form: {} } }
    const url = 'http://localhost/mcp/work'
    const client = await connectClient(gateway, { era, url, token, capabilities })
    const decisions = ['session', undefined]
    client.setRequestHandler('elicitation/create', async () => {
      const decision = decisions.shift()
      return decision === undefined ? { action: 'decline' } : { action: 'accept', content: { decision } }
    })
    await client.callTool(call('look'))
    await client.callTool({ name: 'call_tool', arguments: call('wipe') })
    await client.callTool(call('wipe', 'b'))
    await gateway.approvals.revoke()
    await client.callTool(call('wipe', 'c'))
    await client.callTool({ name: 'fail', arguments: {} })
    await client.callTool(call('forbidden')).catch(() => {})
    await client.callTool({ name: 'tool_search', arguments: { query: 'wipe a disk' } })
    const entries = await readAudit(directory)
    expect(entries.map(({ tool, decision, by, outcome }) => [tool, decision, by, outcome])).toEqual([
      ['look', 'allow', 'policy', 'ok'],
      ['wipe', 'session', 'user', 'ok'],
      ['wipe', 'session', 'user', 'ok'],
      ['wipe', 'deny', 'user', 'denied'],
      ['fail', 'allow', 'policy', 'execution_failed'],
      ['forbidden', 'deny', 'policy', 'not_available'],
    ])
    expect(entries[0]).toMatchObject({
      who: 'ada',
      client: `${era} client`,
      profile: 'work',
      durationMs: expect.any(Number),
    })
    expect(entries[0]?.definition).toMatch(/^[0-9a-f]{64}$/)
    expect(entries[1]?.digest).toBe(entries[0]?.digest)
    expect(entries[2]?.digest).not.toBe(entries[0]?.digest)
    expect(entries.every((entry) => !('arguments' in entry))).toBe(true)
    expect(await verifyAudit(directory)).toEqual({ lines: 7, faults: [] })
  })

  it('says that somebody at the page allowed a call, or that nobody answered', async () => {
    const gateway = workshop()
    const client = await connectClient(gateway, { era })
    await client.callTool(call('wipe'))
    const [pending] = (await gateway.approvals.list()).pending
    await gateway.approvals.decide(pending?.id ?? '', 'once')
    await client.callTool(call('wipe'))
    const entries = await readAudit(directory)
    expect(entries.map(({ decision, by, outcome }) => [decision, by, outcome])).toEqual([
      ['none', 'policy', 'denied'],
      ['once', 'operator', 'ok'],
    ])
  })
})

it('each line is a log record of OpenTelemetry too, if the host has a provider', async () => {
  const records: LogRecord[] = []
  logs.setGlobalLoggerProvider({
    getLogger: () => ({ emit: (record) => void records.push(record), enabled: () => true }),
  })
  onTestFinished(() => logs.disable())
  const client = await connectClient(workshop(), {})
  await client.callTool(call('look'))
  await client.callTool({ name: 'fail', arguments: {} })
  expect(records).toMatchObject([
    {
      eventName: 'toolcrib.call',
      severityNumber: SeverityNumber.INFO,
      attributes: { 'gen_ai.tool.name': 'look' },
    },
    { severityNumber: SeverityNumber.WARN, attributes: { 'toolcrib.outcome': 'execution_failed' } },
  ])
  expect(records[0]?.attributes).not.toHaveProperty('gen_ai.tool.call.arguments')
})

it('the record has arguments only if it is told to, with secrets masked', async () => {
  const client = await connectClient(workshop({ arguments: true }))
  await client.callTool(call('look', 'a', { token: 'sk-verysecret12345' }))
  expect(await readAudit(directory)).toMatchObject([{ arguments: { disk: 'a', token: '***' } }])
  expect(
    files()
      .map((name) => readFileSync(join(directory, name), 'utf8'))
      .join(),
  ).not.toContain('verysecret')
})

describe('a record that cannot be written', () => {
  it('costs only the record, and one warning', async () => {
    const warnings: string[] = []
    writeFileSync(join(directory, 'file'), '')
    const gateway = workshop(
      { directory: join(directory, 'file', 'no-folder') },
      { onWarning: (warning) => void warnings.push(warning) },
    )
    const client = await connectClient(gateway)
    await client.callTool(call('look'))
    await client.callTool(call('look', 'b'))
    expect(ran).toEqual(['look a', 'look b'])
    expect(warnings).toEqual([expect.stringContaining('calls cannot be recorded')])
  })

  it('costs the call where records are required', async () => {
    const gateway = workshop({ directory: join(directory, 'later', 'on'), required: true })
    writeFileSync(join(directory, 'later'), '')
    const client = await connectClient(gateway)
    const refused = await client.callTool(call('look'))
    expect(JSON.stringify(refused)).toContain('Nothing was run')
    expect(refused.isError).toBe(true)
    expect(ran).toEqual([])
    rmSync(join(directory, 'later'))
    await client.callTool(call('look'))
    expect(ran).toEqual(['look a'])
    const entries = await readAudit(join(directory, 'later', 'on'))
    expect(entries.map(({ outcome }) => outcome)).toEqual(['started', 'ok'])
  })
})

describe('a record that somebody tampers with', () => {
  /** A record of six calls in several files; returns the lines of each. */
  async function record(): Promise<string> {
    const client = await connectClient(workshop({ maxFileBytes: 1_000 }))
    for (const disk of ['a', 'b', 'c', 'd', 'e', 'f']) await client.callTool(call('look', disk))
    expect(files().length).toBeGreaterThan(2)
    expect((await verifyAudit(directory)).faults).toEqual([])
    return join(directory, files()[1] ?? '')
  }
  const change = (path: string, edit: (lines: string[]) => string[]) => {
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    writeFileSync(path, `${edit(lines).join('\n')}\n`)
  }
  const problems = async () => (await verifyAudit(directory)).faults.map(({ problem }) => problem)

  it.each([
    [
      'an edited line',
      (lines: string[]) => lines.map((line) => line.replace('"tool":"look"', '"tool":"walk"')),
      'changed or added',
    ],
    ['a removed line', (lines: string[]) => lines.slice(1), 'lines were removed'],
    ['a repeated line', (lines: string[]) => [...lines, lines[0] ?? ''], 'does not follow'],
    [
      'a line with a hash of its own',
      (lines: string[]) => [...lines, `{"tool":"look","hash":"${'0'.repeat(64)}"}`],
      'changed or added',
    ],
    ['text', (lines: string[]) => [...lines, 'hello'], 'changed or added'],
  ] as const)('shows %s', async (_what, edit, problem) => {
    change(await record(), edit)
    expect(await problems()).toContainEqual(expect.stringContaining(problem))
  })

  it('shows a removed end, a removed file and a removed chain', async () => {
    await record()
    const last = join(directory, files().at(-1) ?? '')
    const kept = readFileSync(last, 'utf8')
    change(last, (lines) => lines.slice(0, -1))
    expect(await problems()).toContainEqual(expect.stringContaining('has lost its end'))
    writeFileSync(last, kept)
    expect(await problems()).toEqual([])
    rmSync(last)
    expect(await problems()).toContainEqual(expect.stringContaining('has lost its end'))
    writeFileSync(last, kept)
    // Another process, whose chain names the first one.
    await (await connectClient(workshop())).callTool(call('look', 'g'))
    expect(await problems()).toEqual([])
    const [chain = ''] = files()[0]?.split('.') ?? []
    for (const name of readdirSync(directory)) if (name.startsWith(chain)) rmSync(join(directory, name))
    expect(await problems()).toContainEqual(expect.stringContaining('has lost its end'))
  })

  it('shows a removed end whose note was written anew without the key', async () => {
    await record()
    rmSync(join(directory, files().at(-1) ?? ''))
    const { seq, hash } = JSON.parse(
      readFileSync(join(directory, files().at(-1) ?? ''), 'utf8')
        .trimEnd()
        .split('\n')
        .at(-1) ?? '',
    )
    const head = join(directory, readdirSync(directory).find((name) => name.endsWith('.head')) ?? '')
    writeFileSync(head, `${String(seq).padStart(15, '0')} ${hash}\n`)
    expect(await problems()).toContainEqual(expect.stringContaining('is missing or was changed'))
  })

  it('shows a copy of a chain under another name', async () => {
    await record()
    for (const name of readdirSync(directory))
      if (name !== 'key') copyFileSync(join(directory, name), join(directory, `copy-of-${name}`))
    expect(await problems()).toEqual([expect.stringContaining('renamed or copied')])
  })

  it('is not what a client can make of it by the line breaks of its texts', async () => {
    const client = await connectClient(workshop({ arguments: true }))
    await client.callTool(call('look', 'a\u2028\u2029b'))
    expect(await problems()).toEqual([])
    expect(await readAudit(directory)).toMatchObject([{ arguments: { disk: 'a\u2028\u2029b' } }])
  })

  it('ignores that the writer was killed before it noted its last line', async () => {
    await record()
    const head = join(directory, readdirSync(directory).find((name) => name.endsWith('.head')) ?? '')
    const before = readFileSync(head)
    const client = await connectClient(workshop())
    await client.callTool(call('look', 'z'))
    writeFileSync(head, before)
    expect(await problems()).toEqual([])
    appendFileSync(join(directory, files()[0] ?? ''), '\n')
    expect(await problems()).not.toEqual([])
  })
})

it('gateways that share a folder record at once, each in a chain of its own', async () => {
  const clients = await Promise.all([1, 2, 3].map(() => connectClient(workshop())))
  await Promise.all(
    clients.flatMap((client, at) =>
      Array.from({ length: 20 }, (_, n) => client.callTool(call('look', `${at} ${n}`))),
    ),
  )
  expect((await readAudit(directory)).length).toBe(60)
  expect(await verifyAudit(directory)).toEqual({ lines: 63, faults: [] })
})

it('calls of the page are recorded too', async () => {
  const gateway = workshop({ required: true })
  const registry = new ToolRegistry()
  registry.registerFunction(() => 'noon', { name: 'get_time', description: 'Says the time.' })
  const inspector = createInspector({
    registry,
    servers: connectServers(registry, {}),
    access: gateway.access,
    gateway,
  })
  onTestFinished(() => inspector.close())
  const body = JSON.stringify({ name: 'get_time', args: {} })
  const headers = { 'content-type': 'application/json', 'x-toolcrib-page': '1' }
  const response = await inspector.fetch(
    new Request('http://localhost/api/call', { method: 'POST', headers, body }),
  )
  expect(await response.text()).toContain('noon')
  const entries = await readAudit(directory)
  expect(
    entries.map(({ client, tool, decision, by, outcome }) => [client, tool, decision, by, outcome]),
  ).toEqual([
    ['page', 'get_time', 'once', 'operator', 'started'],
    ['page', 'get_time', 'once', 'operator', 'ok'],
  ])
})

it('options that are misspelt are refused', () => {
  for (const audit of [{ directory, require: true }, { directory: 7 }, {}, { directory, maxFileBytes: 0 }])
    expect(() => createGateway({ registry: new ToolRegistry(), audit: audit as never })).toThrow(/audit/)
})

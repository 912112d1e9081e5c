import { ToolRegistry } from 'toolcrib'
import { createInspector } from 'toolcrib/inspector'
import { connectServers } from 'toolcrib/mcp'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'

const KEY = 'Zq7rT9xLm2vK4wPs'
const EVERYTHING = {
  command: process.execPath,
  args: [referenceServer('everything'), 'stdio'],
  env: { API_KEY: KEY, REGION: 'frankfurt' },
}
const base64 = Buffer.from(`ada:${KEY}`).toString('base64')
const FORMS = [
  KEY,
  base64,
  Buffer.from(KEY).toString('hex'),
  encodeURIComponent(`${KEY}=`),
  [...KEY].join(' '),
]

describe('a secret of the config that its server tells', () => {
  it('is masked in results of the library, whatever its form; other values are not', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    const servers = connectServers(registry, { mcpServers: { everything: EVERYTHING } })
    onTestFinished(() => servers.close())
    await servers.ready()
    const session = await registry.openSession()
    const call = async (name: string, args: object) => {
      const [answer] = await session.execute([{ toolCallId: '1', name: `mcp__everything__${name}`, args }])
      return JSON.stringify(answer?.result)
    }
    const env = await call('get-env', {})
    expect(env).not.toContain(KEY)
    expect(env).toContain('(API_KEY)')
    expect(env).toContain('frankfurt')
    for (const form of FORMS) expect(await call('echo', { message: `it is ${form}` })).toContain('(API_KEY)')
  })

  it('is masked in results of the gateway, on the page and in its events', async () => {
    const { gateway, registry, servers } = await openGateway({ everything: EVERYTHING })
    const events: string[] = []
    registry.subscribe((event) => events.push(JSON.stringify(event)))
    for (const era of ['modern', 'legacy'] as const) {
      const client = await connectClient(gateway, { era })
      for (const form of FORMS) {
        const { content } = await client.callTool({ name: 'everything__echo', arguments: { message: form } })
        expect(JSON.stringify(content)).toMatch(/Echo: .*\(API_KEY\)/)
      }
      const env = await client.callTool({ name: 'everything__get-env', arguments: {} })
      expect(JSON.stringify(env)).not.toContain(KEY)
    }
    const inspector = createInspector({ registry, servers, access: gateway.access })
    onTestFinished(() => inspector.close())
    const shown = await inspector.fetch(
      new Request('http://localhost/api/call', {
        method: 'POST',
        headers: { 'x-toolcrib-page': '1' },
        body: JSON.stringify({ name: 'mcp__everything__get-env', args: {} }),
      }),
    )
    const text = await shown.text()
    expect(text).toContain('(API_KEY)')
    expect(text + events.join()).not.toContain(KEY)
  })
})

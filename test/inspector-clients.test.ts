import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGateway } from 'toolcrib/gateway'
import { createInspector } from 'toolcrib/inspector'
import { openFromConfig } from 'toolcrib/mcp'
import { describe, expect, it, onTestFinished } from 'vitest'

const TOKEN = 'a-token-for-the-page-1234'
const CONFIG =
  '[server.github]\nurl = "https://github.example/mcp"\n\n[server.stripe]\nurl = "https://stripe.example/mcp"\n'
const CURSOR = '{ "mcpServers": { "github": { "url": "https://github.example/mcp" } } }\n'

/** The page of a gateway with two servers, on a machine whose Cursor has one of them. */
async function openPage() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-page-clients-')))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const path = join(home, 'toolcrib.toml')
  writeFileSync(path, CONFIG)
  const cursor = join(home, '.cursor/mcp.json')
  mkdirSync(dirname(cursor))
  writeFileSync(cursor, CURSOR)
  const find = { path, cwd: home, env: { HOME: home } }
  const opened = await openFromConfig(find)
  const { registry, servers } = opened
  const gateway = createGateway({ registry, servers, tokens: [{ token: TOKEN, operator: true }] })
  const inspector = createInspector({
    registry,
    servers,
    gateway,
    access: gateway.access,
    config: { opened, find },
    connect: {
      ...{ home, platform: 'linux', env: { HOME: home }, cwd: home, program: 'npx toolcrib' },
      door: { kind: 'stdio', command: 'toolcrib', args: ['serve', '--stdio', '--config', path] },
    },
  })
  onTestFinished(async () => {
    await inspector.close()
    await gateway.close()
    await opened.close()
  })
  const post = async (route: string, body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-toolcrib-page': '1' }
    const request = new Request(`http://localhost/api/${route}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await inspector.fetch(request)).json()
  }
  return { post, path, cursor }
}

describe('connecting a client on the page', () => {
  it('leaves it the servers that it had, and takes back all that was written', async () => {
    const { post, path, cursor } = await openPage()
    const { digest, moved } = await post('connect-client', { client: 'cursor', kind: 'connect' })
    expect(moved).toEqual(['github'])
    expect(readFileSync(path, 'utf8')).toBe(CONFIG)
    await post('connect-client', { client: 'cursor', kind: 'connect', confirmed: true, digest })
    const { toolcrib } = JSON.parse(readFileSync(cursor, 'utf8')).mcpServers
    expect(toolcrib.args.slice(-2)).toEqual(['--profile', 'cursor'])
    expect(readFileSync(path, 'utf8')).toMatch(/\[profile\.cursor\]\nservers = \[ ?"github" ?\]/)

    const back = await post('connect-client', { client: 'cursor', kind: 'disconnect' })
    const undo = { client: 'cursor', kind: 'disconnect', confirmed: true, digest: back.digest }
    await post('connect-client', undo)
    expect(existsSync(cursor) && readFileSync(cursor, 'utf8')).toBe(CURSOR)
    expect(readFileSync(path, 'utf8').trim()).toBe(CONFIG.trim())
  })
})

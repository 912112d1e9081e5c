import { describe, expect, it } from 'vitest'
import { clientSnippets } from './client-snippets.ts'

const PLACE = { home: '/home/me', platform: 'linux', env: {}, cwd: '/work' } as const
const HTTP = { kind: 'http', url: 'http://127.0.0.1:7117/mcp', token: 'secret' } as const
const STDIO = { kind: 'stdio', command: '/bin/node', args: ['/x/main.js', 'serve', '--stdio'] } as const
const HEADERS = { Authorization: 'Bearer secret' }

describe('snippets for clients', () => {
  const found = (...clients: string[]) =>
    clientSnippets({ http: HTTP, stdio: STDIO }, PLACE, (client) => clients.includes(client))

  it('are those of the clients that are there, each in its own form', () => {
    const [vscode, codex] = found('vscode', 'codex')
    expect(vscode?.titles).toEqual(['VS Code'])
    expect(JSON.parse(vscode?.text ?? '')).toEqual({
      servers: { toolcrib: { type: 'http', url: HTTP.url, headers: HEADERS } },
    })
    expect(codex?.titles).toEqual(['Codex'])
    expect(codex?.text).toBe(
      '[mcp_servers.toolcrib]\nurl = "http://127.0.0.1:7117/mcp"\n\n[mcp_servers.toolcrib.http_headers]\nAuthorization = "Bearer secret"',
    )
  })

  it('join the gateway over stdio where a client takes no URL', () => {
    const [desktop] = found('claude-desktop')
    expect(JSON.parse(desktop?.text ?? '')).toEqual({
      mcpServers: { toolcrib: { command: '/bin/node', args: ['/x/main.js', 'serve', '--stdio'] } },
    })
  })

  it('are those of two usual clients where none is found', () => {
    expect(found().flatMap(({ titles }) => titles)).toEqual(['Claude Code', 'Claude Desktop'])
  })

  it('send no header where no token is needed', () => {
    const open = { http: { ...HTTP, token: undefined }, stdio: STDIO }
    const [gemini] = clientSnippets(open, PLACE, (client) => client === 'gemini')
    expect(JSON.parse(gemini?.text ?? '')).toEqual({ mcpServers: { toolcrib: { httpUrl: HTTP.url } } })
  })
})

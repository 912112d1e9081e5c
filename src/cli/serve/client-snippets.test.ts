import { describe, expect, it } from 'vitest'
import { clientSnippets } from './client-snippets.ts'

const PLACE = { home: '/home/me', platform: 'linux', env: {}, cwd: '/work' } as const
const ADDRESS = { url: 'http://127.0.0.1:7117/mcp', token: 'secret', config: '/work/toolcrib.toml' }
const HEADERS = { Authorization: 'Bearer secret' }

describe('snippets for clients', () => {
  const found = (...paths: string[]) => clientSnippets(ADDRESS, PLACE, (path) => paths.includes(path))

  it('are those of the clients that are there, each in its own form', () => {
    const [vscode, codex] = found('/work/.vscode/mcp.json', '/home/me/.codex/config.toml')
    expect(vscode?.titles).toEqual(['VS Code'])
    expect(JSON.parse(vscode?.text ?? '')).toEqual({
      servers: { toolcrib: { type: 'http', url: ADDRESS.url, headers: HEADERS } },
    })
    expect(codex).toEqual({
      titles: ['Codex'],
      text: '[mcp_servers.toolcrib]\nurl = "http://127.0.0.1:7117/mcp"\nhttp_headers = { Authorization = "Bearer secret" }',
    })
  })

  it('join the gateway over stdio where a client takes no URL', () => {
    const [desktop] = found('/home/me/.config/Claude/claude_desktop_config.json')
    expect(JSON.parse(desktop?.text ?? '')).toEqual({
      mcpServers: {
        toolcrib: { command: 'toolcrib', args: ['serve', '--stdio', '--config', '/work/toolcrib.toml'] },
      },
    })
  })

  it('are those of two usual clients where none is found', () => {
    expect(found().flatMap(({ titles }) => titles)).toEqual(['Claude Desktop', 'Claude Code'])
  })

  it('send no header where no token is needed', () => {
    const open = { ...ADDRESS, token: undefined }
    const [gemini] = clientSnippets(open, PLACE, (path) => path.includes('.gemini'))
    expect(JSON.parse(gemini?.text ?? '')).toEqual({ mcpServers: { toolcrib: { httpUrl: ADDRESS.url } } })
  })
})

import { describe, expect, it } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import { readConfig } from './load-config.ts'

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
describe('the table of a server', () => {
  it("expands the editors' spellings of variables in every field", () => {
    const { servers } = readConfig(
      {
        mcpServers: {
          a: {
            command: '${userHome}/bin/${input:my-tool}',
            args: ['${input:api-key:-none}', '${env:Program Files (x86)}'],
            cwd: '${workspaceFolder}/x',
          },
          b: { command: 'x', env: { KEY: '${input:api-key}' } },
        },
      },
      { env: { HOME: '/home/me', MY_TOOL: 'run', 'Program Files (x86)': 'C:' }, workspaceFolder: '/project' },
    )
    expect(servers.a).toMatchObject({ command: '/home/me/bin/run', args: ['none', 'C:'], cwd: '/project/x' })
    expect(servers.b?.problem).toContain('API_KEY has no value')
  })

  it.each([
    '${command:pick}',
    '${api-key}',
    '${}',
    '${A:-${command:pick}}',
    '${ID ?k=${HOME}',
    '${A:-${B:-x}',
  ])('fails only the server with the unknown variable %s, and names the next step', (text) => {
    const { servers } = readConfig({
      mcpServers: { a: { command: 'x', args: [text] }, b: { command: 'x' } },
    })
    expect(servers.a?.problem).toMatch(/^unknown variable ".*"; write \$\{NAME\}/)
    expect(servers.b).not.toHaveProperty('problem')
  })

  it('names a reference that is never closed before another one, and nothing of what follows it', () => {
    const url = 'https://x.example/${ID ?k=${KEY}'
    const { servers } = readConfig({ mcpServers: { a: { url } } }, { env: { ID: '7', KEY: 'secret' } })
    expect(servers.a?.problem).toContain('unknown variable "ID ?k="; write ${NAME}')
    expect(servers.a?.problem).not.toContain('secret')
  })

  it('accepts numbers and booleans as strings, and ignores null', () => {
    const { servers } = readConfig({
      mcpServers: { a: { command: 'x', args: ['-p', 5, true, null], env: { A: 1, B: null, C: false } } },
    })
    expect(servers.a).toMatchObject({ command: 'x', args: ['-p', '5', 'true'], env: { A: '1', C: 'false' } })
  })

  it("includes and excludes tools by other programs' keys", () => {
    const { servers } = readConfig({
      mcpServers: {
        gemini: { command: 'x', includeTools: ['a', 'b'], excludeTools: ['b'] },
        codex: { command: 'x', enabled_tools: ['a'], disabled_tools: ['b'] },
        others: { command: 'x', disabledTools: ['a'], deny: ['b'] },
        plain: { command: 'x', disabledTools: [] },
        none: { command: 'x', enabledTools: [] },
      },
    })
    expect(servers.gemini).toMatchObject({ allow: ['a', 'b'], deny: ['b'] })
    expect(servers.codex).toMatchObject({ allow: ['a'], deny: ['b'] })
    expect(servers.others).toMatchObject({ deny: ['b', 'a'] })
    expect(servers.none).toMatchObject({ allow: [] })
    expect(Object.keys(servers.plain ?? {})).toEqual(['command'])
    for (const server of Object.values(servers)) expect(server).not.toHaveProperty('problem')
  })

  it('fails a server that uses envFile instead of starting it without its variables', () => {
    const { servers } = readConfig({ servers: { a: { command: 'x', envFile: '.env' } } })
    expect(servers.a?.problem).toBe('"envFile" is not supported; write its variables into "env", as ${NAME}')
  })

  it('is trusted only by our own file or the host, not by files of other programs', async () => {
    const trusting = { mcpServers: { a: { command: 'x', trust: true } } }
    const read = async (text: string, path: string) => {
      const file = await parseConfigFile(text, path)
      return readConfig(file.data, { file }).servers.a?.trust
    }
    expect(await read('[server.a]\ncommand = "x"\ntrust = true', '/p/toolcrib.toml')).toBe(true)
    expect(readConfig(trusting).servers.a?.trust).toBe(true)
    expect(await read(JSON.stringify(trusting), '/p/.mcp.json')).toBeUndefined()
  })
})
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file

import { describe, expect, it } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import { readConfig } from './load-config.ts'

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
describe('the table of a server', () => {
  it('fills in the spellings of editors, in every field', () => {
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

  it.each(['${command:pick}', '${api-key}', '${}', '${A:-${command:pick}}'])(
    'fails the server alone that has %s, which nobody can fill in, and tells what to do',
    (text) => {
      const { servers } = readConfig({
        mcpServers: { a: { command: 'x', args: [text] }, b: { command: 'x' } },
      })
      expect(servers.a?.problem).toMatch(/^no variable ".*" is known here; write \$\{NAME\}/)
      expect(servers.b).not.toHaveProperty('problem')
    },
  )

  it('takes numbers and flags as texts, and drops what is null', () => {
    const { servers } = readConfig({
      mcpServers: { a: { command: 'x', args: ['-p', 5, true, null], env: { A: 1, B: null, C: false } } },
    })
    expect(servers.a).toMatchObject({ command: 'x', args: ['-p', '5', 'true'], env: { A: '1', C: 'false' } })
  })

  it('leaves tools out and takes them as other programs say', () => {
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

  it('fails a server that has its variables in a file of their own, rather than start it without', () => {
    const { servers } = readConfig({ servers: { a: { command: 'x', envFile: '.env' } } })
    expect(servers.a?.problem).toBe('"envFile" is not read here; write its variables into "env", as ${NAME}')
  })

  it('is trusted by what our own file says, or the host, and not by what another program wrote', () => {
    const trusting = { mcpServers: { a: { command: 'x', trust: true } } }
    const read = (text: string, path: string) => {
      const file = parseConfigFile(text, path)
      return readConfig(file.data, { file }).servers.a?.trust
    }
    expect(read('[server.a]\ncommand = "x"\ntrust = true', '/p/toolcrib.toml')).toBe(true)
    expect(readConfig(trusting).servers.a?.trust).toBe(true)
    expect(read(JSON.stringify(trusting), '/p/.mcp.json')).toBeUndefined()
  })
})
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file

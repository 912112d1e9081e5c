import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { findConfig } from '@toolcrib/mcp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { showWelcome } from './show-welcome.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'toolcrib-welcome-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const URL_HERE = 'http://127.0.0.1:7117/mcp'

interface Here {
  readonly url?: string
  readonly config?: string
}

async function shownWith(
  entries: Readonly<Record<string, object>>,
  { url = URL_HERE, config: text = '' }: Here = {},
): Promise<string> {
  for (const [folder, entry] of Object.entries(entries)) {
    mkdirSync(join(home, folder), { recursive: true })
    const file = folder === '.cursor' ? 'mcp.json' : 'mcp_config.json'
    writeFileSync(join(home, folder, file), JSON.stringify({ mcpServers: { toolcrib: entry } }))
  }
  const config = join(home, 'toolcrib.toml')
  writeFileSync(config, text)
  const env = { HOME: home }
  const { terminal, stdout } = fakeTerminal({ env, cwd: home })
  await showWelcome(terminal, {
    url,
    page: 'http://127.0.0.1:7117/',
    version: '1.2.3',
    access: { token: undefined, operator: undefined, issuer: undefined, profile: undefined },
    found: await findConfig({ path: config, cwd: home, env }),
    isControlled: false,
  })
  return stdout()
}

describe('the welcome of a gateway', () => {
  it('gives an address that does not fit beside its label a line of its own, unbroken', async () => {
    const config = join(home, 'toolcrib.toml')
    writeFileSync(config, '')
    const env = { HOME: home }
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const { terminal } = fakeTerminal({ env, cwd: home, output })
    const page = `http://127.0.0.1:7117/#token=${'x'.repeat(43)}`
    await showWelcome(terminal, {
      url: URL_HERE,
      page,
      version: '1.2.3',
      access: {
        token: { token: 'x'.repeat(43), isNew: true },
        operator: undefined,
        issuer: undefined,
        profile: undefined,
      },
      found: await findConfig({ path: config, cwd: home, env }),
      isControlled: false,
    })
    const lines = String(output.read()).split('\n')
    expect(lines).toContain(`  URL    ${URL_HERE}`)
    expect(lines[lines.indexOf('  Page') + 1]).toBe(`  ${page}`)
  })

  it('shows the token of a file in a terminal alone', async () => {
    const config = join(home, 'toolcrib.toml')
    writeFileSync(config, '')
    const env = { HOME: home }
    const welcome = {
      url: URL_HERE,
      page: 'http://127.0.0.1:7117/#token=the-secret',
      version: '1.2.3',
      access: {
        token: { token: 'the-secret', isNew: false, file: '/etc/token' },
        operator: { token: 'the-secret', isNew: false, file: '/etc/operator-token' },
        issuer: undefined,
        profile: undefined,
      },
      found: await findConfig({ path: config, cwd: home, env }),
      isControlled: false,
    }
    const log = fakeTerminal({ env, cwd: home })
    await showWelcome(log.terminal, welcome)
    expect(log.stdout()).not.toContain('the-secret')
    expect(log.stdout()).toContain('  Page   http://127.0.0.1:7117/\n')
    expect(log.stdout()).toContain('Bearer TOKEN')
    const screen = () => Object.assign(new PassThrough(), { isTTY: true })
    const output = screen()
    await showWelcome(fakeTerminal({ env, cwd: home, input: screen(), output }).terminal, welcome)
    expect(String(output.read())).toContain('the-secret')
  })

  it('says what opens the page beside a token that is bound to a profile, and keeps other doors to that profile', async () => {
    const config = join(home, 'toolcrib.toml')
    writeFileSync(config, '[profile.work]\n')
    const env = { HOME: home }
    const shownFor = async (file?: string) => {
      const { terminal, stdout } = fakeTerminal({ env, cwd: home })
      await showWelcome(terminal, {
        url: `${URL_HERE}/work`,
        page: 'http://127.0.0.1:7117/#token=of-the-page',
        version: '1.2.3',
        access: {
          token: { token: 'of-clients', isNew: false, ...(file && { file }) },
          operator: { token: 'of-the-page', isNew: false, ...(file && { file: `${file}-of-operator` }) },
          issuer: undefined,
          profile: 'work',
        },
        found: await findConfig({ path: config, cwd: home, env }),
        isControlled: false,
      })
      return stdout()
    }
    const shown = await shownFor()
    expect(shown).toContain('  Page   http://127.0.0.1:7117/#token=of-the-page\n')
    expect(shown.replace(/\s+/g, ' ')).toContain(
      "The address of the page has the operator's token, which opens the page",
    )
    // Claude Desktop starts its servers.
    expect(shown.replace(/\s+/g, '')).toContain(`"--config","${config}","--profile","work"]`)
    const log = await shownFor('/etc/token')
    expect(log).not.toContain('of-the-page')
    expect(log.replace(/\s+/g, ' ')).toContain("needs the operator's token")
    expect(log).toContain('/etc/token-of-operator')
  })

  it('tells its own clients from those of another gateway', async () => {
    const stdio = (config: string) => ({
      command: 'toolcrib',
      args: ['serve', '--stdio', '--config', config],
    })
    const shown = await shownWith({
      '.cursor': stdio(join(home, 'toolcrib.toml')),
      '.codeium/windsurf': stdio('/other/toolcrib.toml'),
    })
    expect(shown).toContain('Connected already: Cursor.\n')
    expect(shown).toContain('Connected to another gateway: Windsurf.\n')
    expect(shown).toContain('"toolcrib connect <client>" lets a client use this one instead.')
    expect(shown).not.toContain('such an entry')
    expect(await shownWith({ '.cursor': { url: URL_HERE } })).toContain('Connected already: Cursor.\n')
  })
  const OAUTH = `[gateway.oauth]
issuer = "https://issuer.example"
resource = "https://tools.example/mcp"
scopes = { "tools" = "*" }`

  it.each<[string, object, string, Here?]>([
    ['another name of this machine', { url: 'http://localhost:7117/mcp' }, 'Connected already'],
    ['the address in version 6', { url: 'http://[::1]:7117/mcp' }, 'Connected already'],
    ['a profile', { url: `${URL_HERE}/work` }, 'Connected already'],
    [
      'the local address of a gateway on every address',
      { url: URL_HERE },
      'Connected already',
      { url: 'http://192.0.2.7:7117/mcp' },
    ],
    [
      'a profile of the resource of OAuth',
      { url: 'https://tools.example/mcp/work' },
      'Connected already',
      { config: OAUTH },
    ],
    ['another port', { url: 'http://localhost:7118/mcp' }, 'Connected to another gateway'],
    ['another host', { url: 'https://tools.example/mcp' }, 'Connected to a gateway, perhaps this one'],
    [
      'no config',
      { command: 'toolcrib', args: ['serve', '--stdio'] },
      'Connected to a gateway, perhaps this one',
    ],
  ])('reads where a client is connected from %s', async (_where, entry, said, here) => {
    const shown = await shownWith({ '.cursor': entry }, here)
    expect(shown.match(/Connected .*\n/g)).toEqual([`${said}: Cursor.\n`])
  })
})

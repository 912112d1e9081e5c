import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { withSavedVariables } from '../packages/toolcrib/src/config/saved-variables.ts'
import { DefaultAnswers } from '../packages/toolcrib/src/setup/questions.ts'
import { runSetup } from '../packages/toolcrib/src/setup/run-setup.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

const { path, environment, toolcrib, list, server } = useCommandLine()

function put(file: string, content: object): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
  return readFileSync(file, 'utf8')
}

describe('toolcrib without a command', () => {
  let cursor = ''
  beforeEach(() => {
    list(RAIN)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const keyed = { ...server('--quiet'), env: { KEY: '${RAIN_KEY}' } }
    cursor = put(path('home', '.cursor', 'mcp.json'), { mcpServers: { weather: server(), keyed } })
    put(path('home', '.codeium', 'windsurf', 'mcp_config.json'), {
      mcpServers: { broken: { command: 'no-such-program' } },
    })
  })
  const config = () => path('home', '.config', 'toolcrib', 'toolcrib.toml')

  it('prints the steps without a terminal, and changes nothing', async () => {
    const { status, stdout } = await toolcrib()
    expect(status).toBe(0)
    expect(stdout).toMatch(/"toolcrib import --user" +copies 3 new servers of 2 programs/)
    expect(stdout).toMatch(/"toolcrib connect --all --yes" +lets 2 programs use the gateway/)
    expect(stdout).toContain('"toolcrib setup --yes"')
    expect(existsSync(config())).toBe(false)
    writeFileSync(path('home', '.cursor', 'mcp.json'), '{ "mcpServers": ')
    expect((await toolcrib()).stdout).toMatch(/note Cursor \(.*mcp\.json\): /)
  })

  it('says what a no means', async () => {
    class No extends DefaultAnswers {
      override async confirm(): Promise<boolean> {
        return false
      }
    }
    put(path('.mcp.json'), { mcpServers: { somebodys: { command: './server.sh' } } })
    const { terminal, stdout } = fakeTerminal({ env: environment(), cwd: path() })
    expect(await runSetup(terminal, { yes: true }, new No())).toBe(1)
    expect(stdout()).toContain(`the servers of this project stay with it: ${path('.mcp.json')}`)
    expect(stdout()).toContain('3 new servers in 2 programs')
    expect(stdout()).toContain('no server was copied; do it later with "toolcrib import --user"')
    expect(existsSync(config())).toBe(false)
  })

  it('leads from the servers of other programs to clients that use the gateway, and back', async () => {
    const { status, stdout } = await toolcrib('--yes')
    expect(stdout).toContain('3 new servers in 2 programs (Cursor, Windsurf)')
    expect(stdout).toMatch(/\n {2}weather +Cursor\n {2}keyed +Cursor\n {2}broken +Windsurf\n/)
    expect(stdout).toContain('1 of 3 servers ready: 1 tool\n')
    // Each program has its own figures, of its own servers.
    expect(stdout).toMatch(
      /\n {2}Cursor +2 servers +[1-9]\d* +→ \d+ tokens \(without 1 that is not ready\)\n/,
    )
    expect(stdout).toMatch(/\n {2}Windsurf +1 server +0 +→ \d+ tokens/)
    expect(stdout).toMatch(/✗ keyed +RAIN_KEY has no value; set RAIN_KEY\n/)
    expect(stdout).toMatch(/✗ broken +command "no-such-program" not found; install no-such-program/)
    expect(stdout).toContain('connected Cursor, Windsurf; restart them')
    expect(stdout).toContain('undo with "toolcrib disconnect cursor windsurf"')
    expect(status).toBe(0)
    expect(
      Object.keys(JSON.parse(readFileSync(path('home', '.cursor', 'mcp.json'), 'utf8')).mcpServers),
    ).toEqual(['toolcrib'])
    // Windsurf cannot ask by itself.
    expect(stdout).toMatch(/Windsurf cannot, so you answer on the page[\s\S]*added ask = \["changes"\]/)
    expect(readFileSync(config(), 'utf8')).toContain('[tools]\nask = [ "changes" ]')
    const again = await toolcrib('--yes')
    expect(again.stdout).not.toContain('added ask')
    expect(again.stdout).toContain('3 servers in your config, and no new ones in other programs')
    expect(again.stdout).toContain('your programs are connected already')
    expect((await toolcrib('disconnect', '--all')).status).toBe(0)
    expect(readFileSync(path('home', '.cursor', 'mcp.json'), 'utf8')).toBe(cursor)
  })

  describe('programs with different servers', () => {
    const program = { name: 'toolcrib', command: process.execPath, args: [inject('commandLine')] }
    const windsurf = () => path('home', '.codeium', 'windsurf', 'mcp_config.json')
    const argsOf = (file: string): string[] =>
      JSON.parse(readFileSync(file, 'utf8')).mcpServers.toolcrib?.args ?? []
    let before: string[] = []
    beforeEach(() => {
      mkdirSync(path('home', '.gemini'))
      const servers = { other: server('--other'), weather: server() }
      before = [
        put(path('home', '.cursor', 'mcp.json'), { mcpServers: { weather: server() } }),
        put(windsurf(), { mcpServers: servers }),
      ]
    })
    const setUp = async (answer = 'y') => {
      class Answers extends DefaultAnswers {
        override async pick(_message: string, answers: readonly { value: string }[]): Promise<string> {
          expect(answers.map(({ value }) => value).join('')).toMatch(/^yad?n$/)
          return answer
        }
      }
      const { terminal, stdout } = fakeTerminal({ env: environment(), cwd: path(), program })
      expect(await runSetup(terminal, { yes: true }, new Answers())).toBe(0)
      return stdout()
    }

    it('keep those they had, with a profile, which is gone once they are disconnected', async () => {
      const said = await setUp()
      expect(said).toMatch(/\n {2}weather +Cursor, Windsurf\n/)
      expect(said).toMatch(/\n {2}Cursor +1 server +\d+ +→ \d+ tokens\n {2}Windsurf +2 servers +\d+ +→/)
      expect(readFileSync(config(), 'utf8')).toContain('[profile.cursor]\nservers = [ "weather" ]')
      expect(argsOf(path('home', '.cursor', 'mcp.json')).slice(-2)).toEqual(['--profile', 'cursor'])
      // It had all of them, so it needs no profile.
      expect(argsOf(windsurf())).not.toContain('--profile')
      // It had none, and does not get those of the others unasked.
      expect(existsSync(path('home', '.gemini', 'settings.json'))).toBe(false)

      const client = new Client({ name: 'cursor', version: '1' })
      const env = { HOME: path('home'), PATH: process.env.PATH ?? '' }
      const args = argsOf(path('home', '.cursor', 'mcp.json'))
      const command = process.execPath
      await client.connect(new StdioClientTransport({ command, args, env, cwd: path(), stderr: 'ignore' }))
      const called = client.callTool({ name: 'other__get_rain', arguments: { city: 'Oslo' } })
      await expect(called).rejects.toThrow('Unknown tool: other__get_rain. Close names: weather__get_rain')
      await client.close()

      expect(await setUp()).toContain('no program was changed')
      expect((await toolcrib('disconnect', '--all')).status).toBe(0)
      const after = [path('home', '.cursor', 'mcp.json'), windsurf()].map((file) =>
        readFileSync(file, 'utf8'),
      )
      expect(after).toEqual(before)
      expect(readFileSync(config(), 'utf8')).not.toContain('profile')
    })

    it('get all of them where the user says so', async () => {
      await setUp('a')
      expect(argsOf(path('home', '.cursor', 'mcp.json'))).not.toContain('--profile')
      expect(readFileSync(config(), 'utf8')).not.toContain('profile')
      await toolcrib('disconnect', '--all')
      await toolcrib('connect', 'cursor', '--yes', '--all-servers')
      expect(argsOf(path('home', '.cursor', 'mcp.json'))).not.toContain('--profile')
    })

    it('keep a profile that somebody has added to, and lose a server that is removed', async () => {
      await setUp()
      writeFileSync(
        config(),
        readFileSync(config(), 'utf8').replace('[profile.cursor]', '[profile.cursor]\nmode = "full"'),
      )
      await toolcrib('disconnect', '--all')
      expect(readFileSync(config(), 'utf8')).toContain('mode = "full"\nservers = [ "weather" ]')
      expect((await toolcrib('remove', 'weather', '--user')).status).toBe(0)
      expect(readFileSync(config(), 'utf8')).toContain('servers = []')
      // The next profile has another name.
      put(path('home', '.cursor', 'mcp.json'), { mcpServers: { other: server('--other') } })
      await toolcrib('add', 'third', '--user', '--', 'third')
      expect((await toolcrib('connect', 'cursor', '--yes')).stdout).toContain('with the profile cursor-2')
    })
  })

  it('asks for missing values, keeps them out of the config, and takes no for an answer', async () => {
    class Answers extends DefaultAnswers {
      override async secret(message: string): Promise<string> {
        expect(message).toContain('RAIN_KEY for keyed')
        return 'the-value-of-the-key'
      }
      override async choose(): Promise<readonly string[]> {
        return []
      }
    }
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const env = environment()
    const { terminal } = fakeTerminal({ input, output, env, cwd: path() })
    expect(await runSetup(terminal, {}, new Answers())).toBe(0)
    const said = String(output.read())
    expect(said).toContain('2 of 3 servers ready')
    expect(said).toContain('no program was changed; do it later with "toolcrib connect"')
    for (const line of said.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(readFileSync(config(), 'utf8')).not.toContain('the-value')
    expect(withSavedVariables(env).RAIN_KEY).toBe('the-value-of-the-key')
    const saved = path('home', '.local', 'state', 'toolcrib', 'variables.json')
    expect(statSync(saved).mode & 0o777).toBe(0o600)
    expect(readFileSync(path('home', '.cursor', 'mcp.json'), 'utf8')).toBe(cursor)
  })

  it('asks for what a server says it lacks, and passes it on to the server', async () => {
    const wants = `if (!process.env.RAIN_TOKEN) { console.error('Error: RAIN_TOKEN is required'); process.exit(1) }`
    writeFileSync(path('wants.mjs'), `${wants}\nprocess.argv.splice(1, 1)\nawait import(process.argv[1])\n`)
    const { command, args } = server()
    put(path('home', '.cursor', 'mcp.json'), {
      mcpServers: { wanting: { command, args: [path('wants.mjs'), ...args] } },
    })
    const asked: string[] = []
    class Answers extends DefaultAnswers {
      override async secret(message: string): Promise<string> {
        asked.push(message)
        return 'the-value-of-the-token'
      }
    }
    const env = environment()
    const { terminal, stdout } = fakeTerminal({ env, cwd: path() })
    expect(await runSetup(terminal, { yes: true }, new Answers())).toBe(0)
    expect(asked).toEqual(['RAIN_TOKEN, which wanting asks for (empty: skip it)'])
    expect(stdout()).toContain('1 of 2 servers ready')
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    expect(readFileSync(config(), 'utf8')).toContain('[server.wanting.env]\nRAIN_TOKEN = "${RAIN_TOKEN}"')
    expect(withSavedVariables(env).RAIN_TOKEN).toBe('the-value-of-the-token')
    // The client's own entry, which does not name the variable, is still the same server.
    expect(
      Object.keys(JSON.parse(readFileSync(path('home', '.cursor', 'mcp.json'), 'utf8')).mcpServers),
    ).toEqual(['toolcrib'])
    expect((await toolcrib('import', '--json')).json().added).toEqual([])
  })

  describe('a server that says it lacks a variable of the environment', () => {
    const secret = 'the-value-in-the-environment'
    const got = () => path('got.txt')
    beforeEach(() => {
      const wants = `import { writeFileSync } from 'node:fs'
if (process.env.CLOUD_TOKEN) writeFileSync(${JSON.stringify(got())}, process.env.CLOUD_TOKEN)
console.error('Error: CLOUD_TOKEN is required')
process.exit(1)
`
      writeFileSync(path('wants.mjs'), wants)
      put(path('home', '.cursor', 'mcp.json'), {
        mcpServers: { wanting: { command: process.execPath, args: [path('wants.mjs')] }, weather: server() },
      })
    })

    it('is not given it unless a person agrees, so that no server takes what it names', async () => {
      const env = { ...environment(), CLOUD_TOKEN: secret }
      const { terminal, stdout } = fakeTerminal({ env, cwd: path() })
      expect(await runSetup(terminal, { yes: true })).toBe(0)
      expect(existsSync(got())).toBe(false)
      expect(readFileSync(config(), 'utf8')).not.toContain('CLOUD_TOKEN')
      expect(stdout()).toContain('set CLOUD_TOKEN')
    })

    it('is given it, and it stays where it is, when a person agrees', async () => {
      const asked: string[] = []
      class Answers extends DefaultAnswers {
        override async allow(message: string): Promise<boolean> {
          asked.push(message)
          return true
        }
      }
      const env = { ...environment(), CLOUD_TOKEN: secret }
      const { terminal } = fakeTerminal({ env, cwd: path() })
      expect(await runSetup(terminal, { yes: true }, new Answers())).toBe(0)
      expect(asked).toEqual(['wanting asks for CLOUD_TOKEN, which has a value; pass it on to wanting?'])
      expect(readFileSync(got(), 'utf8')).toBe(secret)
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
      expect(readFileSync(config(), 'utf8')).toContain('CLOUD_TOKEN = "${CLOUD_TOKEN}"')
      expect(withSavedVariables({ ...env, CLOUD_TOKEN: undefined }).CLOUD_TOKEN).toBeUndefined()
      expect(existsSync(path('home', '.local', 'state', 'toolcrib', 'variables.json'))).toBe(false)
    })
  })

  it('connects clients to a gateway that knows the saved values, whatever the environment of the client', async () => {
    class Answers extends DefaultAnswers {
      override async secret(): Promise<string> {
        return 'the-value-of-the-key'
      }
    }
    const program = { name: 'toolcrib', command: process.execPath, args: [inject('commandLine')] }
    const { terminal } = fakeTerminal({ env: environment(), cwd: path(), program })
    expect(await runSetup(terminal, { yes: true }, new Answers())).toBe(0)
    const { mcpServers } = JSON.parse(readFileSync(path('home', '.cursor', 'mcp.json'), 'utf8'))
    const { command, args } = mcpServers.toolcrib
    const client = new Client({ name: 'cursor', version: '1' })
    const env = { HOME: path('home'), PATH: process.env.PATH ?? '' }
    await client.connect(new StdioClientTransport({ command, args, env, cwd: path(), stderr: 'ignore' }))
    const called = await client.callTool({ name: 'keyed__get_rain', arguments: { city: 'Oslo' } })
    expect(called.content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    await client.close()
  })

  it('says before it writes that secrets are copied, and where git would see them', async () => {
    const keyed = { command: 'no-such-program', args: ['--api-key', 'k-1234567890abcdef'] }
    put(path('home', '.cursor', 'mcp.json'), { mcpServers: { keyed } })
    const heard: string[] = []
    const setUp = async () => {
      const { terminal, stdout } = fakeTerminal({ env: environment(), cwd: path() })
      class No extends DefaultAnswers {
        override async confirm(): Promise<boolean> {
          heard.push(stdout())
          return false
        }
      }
      await runSetup(terminal, { yes: true }, new No())
    }
    await setUp()
    mkdirSync(path('home', '.git'))
    await setUp()
    const note = 'note the secrets in the entries of keyed are copied too, into'
    expect(heard[0]).toContain(`${note} a file that only you can read`)
    expect(heard[1]).toContain(`${note} the git repository ${path('home')}`)
  })

  it('changes no program while no server is ready, and says what comes first', async () => {
    put(path('home', '.cursor', 'mcp.json'), {})
    const { status, stdout } = await toolcrib('--yes')
    expect(status).toBe(1)
    expect(stdout).toMatch(
      /no server is ready, so no program is changed; fix one, then run "toolcrib" again\n$/,
    )
  })

  it('says what to do where there is nothing', async () => {
    put(path('home', '.cursor', 'mcp.json'), {})
    put(path('home', '.codeium', 'windsurf', 'mcp_config.json'), {})
    const { status, stdout } = await toolcrib('--yes')
    expect(status).toBe(1)
    expect(stdout).toContain('"toolcrib add files -- npx')
  })
})

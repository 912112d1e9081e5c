import { mkdirSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

const { path, toolcrib, toolcribWith, list, server, configure, wasStarted } = useCommandLine()
const KEY = { ANTHROPIC_API_KEY: 'key' }

beforeEach(() => {
  list(RAIN)
  configure({ weather: server() })
  mkdirSync(path('home', '.cursor'))
})

describe('words and flags that no config makes right', () => {
  it.each([
    ['import', 'emacs'],
    ['import', 'cursr'],
    ['import', '--to', 'servers.txt'],
    ['import', '--to', 'a.toml', '--user'],
    ['connect', 'emacs'],
    ['connect', 'cursor', '--url', 'http://127.0.0.1:7117/mcp'],
    ['connect', 'cursor', '--http', '--url', 'somewhere'],
    ['disconnect', 'emacs'],
    ['add', 'a b', '--', 'npx'],
    ['add', 'docs', '--url', 'somewhere'],
    ['add', 'docs', '--url', 'http://host/mcp', '--env', 'A=1'],
    ['add', 'docs', '--header', 'A=1', '--', 'npx'],
    ['add', 'docs', '--config', 'servers.txt', '--', 'npx'],
    ['add', 'docs', '--config', 'a.toml', '--user', '--', 'npx'],
    ['remove', 'weather', '--config', 'a.toml', '--user'],
    ['disable', 'weather', '--config', 'servers.txt'],
    ['serve', '--store', 'foo'],
    ['serve', '--token', 'short'],
    ['memory', '--store', 'foo'],
    ['memory', 'clear'],
    ['approve'],
    ['approve', '--all', 'weather'],
    ['call', 'get_rain', 'city=Oslo', '--out', 'nowhere/a.txt'],
    ['call', 'get_rain', 'city=Oslo', '--out', '.'],
    ['eval', '--queries', 'q.jsonl', '--searcher', 'foo'],
    ['chat', '--prompt', 'hi', '--provider', 'foo'],
    ['chat', '--prompt', 'hi', '--base-url', 'somewhere', '--model', 'm'],
    ['chat', '--prompt', 'hi', '--model', 'm', '--agents', 'nowhere'],
    ['chat', '--prompt', '', '--model', 'm'],
  ])('are usage-invalid: %s %s %s %s', async (...words) => {
    const [command = '', ...rest] = words
    const { status, stdout } = await toolcribWith(KEY, command, '--json', ...rest)
    expect({ status, ...JSON.parse(stdout) }).toMatchObject({ status: 2, error: { code: 'usage-invalid' } })
    expect(wasStarted()).toBe(false)
  })

  it('name what may have been meant', async () => {
    expect((await toolcrib('import', 'cursr')).stderr).toBe(
      'error unknown client "cursr"; did you mean "cursor"?\n',
    )
  })
})

describe('what the config or the environment says', () => {
  it.each([
    [{}, ['list', 'nosuch']],
    [{}, ['serve', '--profile', 'nosuch']],
    [{}, ['connect', 'cursor', '--config', 'nosuch.toml', '--dry-run']],
    [{ TOOLCRIB_STORE: 'foo' }, ['serve']],
    [{ TOOLCRIB_PROVIDER: 'foo' }, ['chat', '--prompt', 'hi']],
  ])('is config-invalid: %j %j', async (env, words) => {
    const { status, stdout } = await toolcribWith(env, ...words, '--json')
    expect({ status, ...JSON.parse(stdout) }).toMatchObject({ status: 2, error: { code: 'config-invalid' } })
  })

  it('may hold the address of a server that is added', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    expect((await toolcrib('add', 'docs', '--url', '${DOCS_URL}', '--config', 'a.toml')).status).toBe(0)
  })
})

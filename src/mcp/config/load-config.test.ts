import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Config, loadConfig, readConfig } from './load-config.ts'
import { watchConfig } from './watch-config.ts'

describe('loadConfig', () => {
  it('leaves out a server that is not enabled, however that is written', () => {
    const config = readConfig({
      mcpServers: {
        on: { command: 'x', enabled: true },
        off: { command: 'x', enabled: false },
        disabled: { command: 'x', disabled: true },
      },
    })
    expect(config.servers).toEqual({ on: { command: 'x' } })
  })

  it("lets the project disable a server of the user's, by its name alone", async () => {
    const files = {
      '/home/me/.config/toolcrib/toolcrib.toml': `
        [server.a]
        command = "x"
        [server.b]
        command = "x"`,
      '/project/toolcrib.toml': `
        [server.a]
        disabled = true`,
    }
    const config = await load(files, { env: { HOME: '/home/me' } })
    expect(Object.keys(config.servers)).toEqual(['b'])
  })

  it('reads toolcrib.toml into registry options and servers', async () => {
    const config = await load({
      '/project/toolcrib.toml': `
        [tools]
        registry_mode = "auto"
        defer = "mcp"
        tool_threshold = 15
        max_active_schemas = 24
        search_tool = "tool_search"
        pinned = ["mcp__github__search"]
        allow = ["*"]
        deny = []
        [server.github]
        command = "npx"
        args = ["-y", "some-server"]
        lazy = true
        start = "on-demand"
        timeout_ms = 5000
        idle_ms = 0`,
    })
    expect(config.tools).toEqual({
      mode: 'auto',
      defer: 'mcp',
      toolThreshold: 15,
      maxActive: 24,
      searchTool: 'tool_search',
      pinned: ['mcp__github__search'],
      policy: { allow: ['*'], deny: [] },
    })
    expect(config.servers).toEqual({
      github: {
        command: 'npx',
        args: ['-y', 'some-server'],
        lazy: true,
        start: 'on-demand',
        timeoutMs: 5000,
        idleMs: 0,
      },
    })
    expect(config.files).toEqual(['/project/toolcrib.toml'])
  })

  it('reads the JSON of clients and editors, with comments, trailing commas and keys of theirs', async () => {
    const config = await load({
      '/project/.mcp.json': `{
        // servers
        "mcpServers": {
          "files": { "command": "node", "args": ["x.js"], "autoApprove": ["read"], "timeout": 60, },
          "web": { "type": "streamable-http", "url": "https://example.com/mcp", "headers": { "X-A": "1" } },
          "old": { "type": "sse", "url": "https://example.com/sse" },
          "off": { "command": "node", "disabled": true },
        },
      }`,
    })
    expect(Object.keys(config.servers)).toEqual(['files', 'web', 'old'])
    expect(config.servers.web).toMatchObject({ type: 'http', headers: { 'X-A': '1' } })
    expect(config.servers.old?.type).toBe('sse')
  })

  it('takes the short forms, and what is spelled out beside them wins', async () => {
    const short = await load({ '/project/toolcrib.toml': '[tools]\nlazy_mcp = true' })
    expect(short.tools).toEqual({ mode: 'lazy', defer: 'mcp' })
    const all = await load({
      '/project/toolcrib.toml': '[tools]\ndeferred_tools = true\nregistry_mode = "auto"',
    })
    expect(all.tools).toEqual({ mode: 'auto', defer: 'all' })
  })

  it('lays flags over the environment over the project over the user', async () => {
    const files = {
      '/home/me/.config/toolcrib/toolcrib.toml':
        '[tools]\nregistry_mode = "full"\ntool_threshold = 1\nmax_active_schemas = 1\nsearch_tool = "ToolSearch"\n[server.mine]\ncommand = "a"\n[server.both]\ncommand = "user"',
      '/project/toolcrib.toml':
        '[tools]\nregistry_mode = "lazy"\ntool_threshold = 2\nmax_active_schemas = 2\n[server.both]\ncommand = "project"',
    }
    const config = await load(files, {
      env: { HOME: '/home/me', TOOLCRIB_TOOL_THRESHOLD: '3', TOOLCRIB_MAX_ACTIVE_SCHEMAS: '3' },
      overrides: { max_active_schemas: 4 },
    })
    expect(config.tools).toEqual({ mode: 'lazy', toolThreshold: 3, maxActive: 4, searchTool: 'ToolSearch' })
    expect(config.servers.mine?.command).toBe('a')
    expect(config.servers.both?.command).toBe('project')
    expect(config.files).toHaveLength(2)
  })

  it('reads only the file it is pointed to', async () => {
    const files = {
      '/project/toolcrib.toml': '[server.a]\ncommand = "a"',
      '/project/other.json': '{"mcpServers":{}}',
    }
    expect((await load(files, { path: 'other.json' })).servers).toEqual({})
    await expect(load(files, { path: 'none.json' })).rejects.toThrow(
      'there is no config file /project/none.json',
    )
  })

  it('is empty without any file', async () => {
    expect(await load({})).toEqual({ tools: {}, servers: {}, files: [] })
  })

  it.each([
    [
      '/project/toolcrib.toml',
      '[server.github]\n\ncomand = "npx"',
      'toolcrib.toml:3: [server.github] unknown key "comand"; did you mean "command"?',
    ],
    [
      '/project/toolcrib.toml',
      '[tools]\ntool_treshold = 3',
      'toolcrib.toml:2: [tools] unknown key "tool_treshold"; did you mean "tool_threshold"?',
    ],
    ['/project/toolcrib.toml', '[tols]\n', 'toolcrib.toml:1: unknown key "tols"; did you mean "tools"?'],
    [
      '/project/toolcrib.toml',
      '[tools]\nregistry_mode = "lzy"',
      ':2: [tools] "registry_mode" must be one of full, lazy, auto, not "lzy"',
    ],
    [
      '/project/toolcrib.toml',
      '[server.a]\nurl = "ftp://x"',
      ':2: [server.a] "url" must be an http or https address',
    ],
    ['/project/toolcrib.toml', '[server.a]\nlazy = true', ':1: [server.a] a "command" or a "url" is missing'],
    ['/project/toolcrib.toml', '[tools]\nregistry_mode = ', 'toolcrib.toml:2: '],
    [
      '/project/mcp.json',
      '{\n "mcpServers": {\n  "a": {\n   "comand": "x" } } }',
      'mcp.json:4: [mcpServers.a] unknown key "comand"; did you mean "command"?',
    ],
    ['/project/mcp.json', '{\n "mcpServers": {', 'mcp.json:2: close brace expected'],
    [
      '/project/mcp.json',
      '{ "mcpServers": { "a\\u202e": { "command": "x" } } }',
      'control or invisible characters',
    ],
  ])('tells what is wrong in %s: %s', async (path, text, message) => {
    await expect(load({ [path]: text })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining(message),
    })
  })

  it('fills variables in, and fails only the server whose variable has no value', async () => {
    const text = `{ "mcpServers": {
      "a": { "command": "\${BIN}", "args": ["\${PORT:-80}", "\${env:BIN}", "\${workspaceFolder}/x", "\${EMPTY:-full}"] },
      "b": { "command": "node", "env": { "KEY": "\${SECRET}" } } } }`
    const { servers } = await load({ '/project/mcp.json': text }, { env: { BIN: PORT_REFERENCE, EMPTY: '' } })
    expect(servers.a).toEqual({ command: PORT_REFERENCE, args: ['80', PORT_REFERENCE, '/project/x', 'full'] })
    expect(servers.b?.problem).toContain('SECRET has no value')
  })

  it('reads its own result again to the same', async () => {
    const config = await load({ '/project/toolcrib.toml': '[server.a]\ncommand = "x"\ntimeout_ms = 5' })
    expect(readConfig(config).servers).toEqual(config.servers)
  })

  it('keeps a server called __proto__ apart from the prototype', () => {
    const config = readConfig(JSON.parse('{"mcpServers":{"__proto__":{"command":"x"}}}'))
    expect(Object.keys(config.servers)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(config.servers)).toBe(Object.prototype)
  })
})

describe('watchConfig', () => {
  let directory = ''
  let stop: (() => Promise<void>) | undefined

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'toolcrib-config-'))
  })

  afterEach(async () => {
    await stop?.()
    await rm(directory, { recursive: true })
  })

  it('tells of a file that is replaced, and keeps what was good while a file is half written', async () => {
    const path = join(directory, 'mcp.json')
    await writeFile(path, '{"mcpServers":{}}')
    const seen = new Queue<Config | Error>()
    stop = watchConfig({
      cwd: directory,
      env: {},
      path,
      settleMs: 20,
      onChange: (config) => seen.push(config),
      onError: (error) => seen.push(error as Error),
    })
    expect(await seen.next()).toMatchObject({ servers: {} })
    await writeFile(path, '{"mcpServers":{"a":')
    expect(await seen.next()).toMatchObject({ code: 'config-invalid' })
    await writeFile(`${path}.new`, '{"mcpServers":{"a":{"command":"x"}}}')
    await rename(`${path}.new`, path)
    let next = await seen.next()
    while (next instanceof Error) next = await seen.next()
    expect(next).toMatchObject({ servers: { a: { command: 'x' } } })
  })
})

class Queue<Item> {
  readonly #items: Item[] = []
  #wake: (() => void) | undefined

  push(item: Item): void {
    this.#items.push(item)
    this.#wake?.()
  }

  async next(): Promise<Item> {
    for (;;) {
      const item = this.#items.shift()
      if (item !== undefined) return item
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
const PORT_REFERENCE = '${PORT}'

function load(files: Record<string, string>, options: Partial<Parameters<typeof loadConfig>[0]> = {}) {
  return loadConfig({
    cwd: '/project',
    env: {},
    readFile: async (path) => {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
    ...options,
  })
}

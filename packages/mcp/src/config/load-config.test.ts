import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import { type Config, loadConfig, readConfig } from './load-config.ts'
import { watchConfig } from './watch-config.ts'

describe('loadConfig', () => {
  it('leaves out a disabled server, in every spelling', () => {
    const config = readConfig({
      mcpServers: {
        on: { command: 'x', enabled: true },
        off: { command: 'x', enabled: false },
        disabled: { command: 'x', disabled: true },
      },
    })
    expect(plain(config.servers)).toEqual({ on: { command: 'x' } })
  })

  it('lets the project disable a server of the user config by name', async () => {
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
    expect(plain(config.servers)).toEqual({
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

  it('reads the JSON of clients and editors, with comments, trailing commas and their own keys', async () => {
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

  it('accepts the shorthands, and explicit settings take precedence over them', async () => {
    const short = await load({ '/project/toolcrib.toml': '[tools]\nlazy_mcp = true' })
    expect(short.tools).toEqual({ mode: 'lazy', defer: 'mcp' })
    const all = await load({
      '/project/toolcrib.toml': '[tools]\ndeferred_tools = true\nregistry_mode = "auto"',
    })
    expect(all.tools).toEqual({ mode: 'auto', defer: 'all' })
    const full = await load({ '/project/toolcrib.toml': '[tools]\nlazy_mcp = false' })
    expect(full.tools).toEqual({ mode: 'full' })
    const lazy = await load({
      '/project/toolcrib.toml': '[tools]\nlazy_mcp = false\nregistry_mode = "lazy"\ndefer = "auto"',
    })
    expect(lazy.tools).toEqual({ mode: 'lazy', defer: 'auto' })
  })

  it('applies flags over environment over project config over user config', async () => {
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

  it.each([
    ['lazy_mcp', 'mcp', { mode: 'full' }],
    ['deferred_tools', 'all', {}],
  ])('lets a layer override a %s of the layer below', async (key, defer, undone) => {
    const layers = (user: string, project: string) => ({
      '/home/me/.config/toolcrib/toolcrib.toml': `[tools]\n${user}`,
      '/project/toolcrib.toml': `[tools]\n${project}`,
    })
    const HOME = '/home/me'
    const variable = `TOOLCRIB_${key.toUpperCase()}`
    const off = layers(`${key} = true`, `${key} = false`)
    expect((await load(off, { env: { HOME } })).tools).toEqual(undone)
    expect((await load(off, { env: { HOME, [variable]: '1' } })).tools).toEqual({ mode: 'lazy', defer })
    const on = layers(`${key} = false`, `${key} = true`)
    expect((await load(on, { env: { HOME } })).tools).toEqual({ mode: 'lazy', defer })
    expect((await load(on, { env: { HOME, [variable]: 'false' } })).tools).toEqual(undone)
    const flags = { overrides: { [key]: true } }
    expect((await load(on, { env: { HOME, [variable]: 'false' }, ...flags })).tools).toEqual({
      mode: 'lazy',
      defer,
    })
  })

  it('lets a shorthand override explicit settings of the layer below, and vice versa', async () => {
    const layers = (user: string, project: string) =>
      load(
        {
          '/home/me/.config/toolcrib/toolcrib.toml': `[tools]\n${user}`,
          '/project/toolcrib.toml': `[tools]\n${project}`,
        },
        { env: { HOME: '/home/me' } },
      )
    const short = await layers('registry_mode = "full"\ndeferred_tools = true', 'lazy_mcp = true')
    expect(short.tools).toEqual({ mode: 'lazy', defer: 'mcp' })
    const spelled = await layers('lazy_mcp = true', 'registry_mode = "full"')
    expect(spelled.tools).toEqual({ mode: 'full', defer: 'mcp' })
  })

  it('reads only the given file', async () => {
    const files = {
      '/project/toolcrib.toml': '[server.a]\ncommand = "a"',
      '/project/other.json': '{"mcpServers":{}}',
    }
    expect((await load(files, { path: 'other.json' })).servers).toEqual({})
    await expect(load(files, { path: 'none.json' })).rejects.toThrow(
      'config file /project/none.json does not exist',
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
    ['/project/toolcrib.toml', '[tools]\nregistry_mode = ', 'toolcrib.toml:2:17: '],
    [
      '/project/mcp.json',
      '{\n "mcpServers": {\n  "a": {\n   "comand": "x" } } }',
      'mcp.json:4: [mcpServers.a] unknown key "comand"; did you mean "command"?',
    ],
    ['/project/mcp.json', '{\n "mcpServers": {', 'mcp.json:2:17: close brace expected'],
    [
      '/project/mcp.json',
      '{ "mcpServers": {\n "a": { "command": "x" },\n\n "a": { "command": "y" } } }',
      'mcp.json:4: duplicate key "a", first defined on line 2; rename or remove one of them',
    ],
    [
      '/project/mcp.json',
      '{\n "mcpServer": { "a": { "command": "x" } } }',
      'mcp.json:2: unknown key "mcpServer"; did you mean "mcpServers"?',
    ],
    ['/project/.mcp.json', '{\n\n "sever": {} }', '.mcp.json:3: unknown key "sever"; did you mean "server"?'],
    [
      '/project/mcp.json',
      '{ "mcpServers": { "a": { "command": "x",\n "oauth": { "clientld": "y" } } } }',
      'mcp.json:2: [mcpServers.a.oauth] unknown key "clientld"; did you mean "clientId"?',
    ],
    [
      '/project/toolcrib.toml',
      '[server.a]\ncommand = "x"\ntimeout = 5',
      ':3: [server.a] unknown key "timeout"; did you mean "timeout_ms"?',
    ],
    [
      '/project/toolcrib.toml',
      '[server.a]\ncommand = "x"\nwhatever = 5',
      'known keys: allow, args, asks, command, connect_timeout_ms, cwd, deny, disabled, enabled, env, headers, hints, idle_ms, lazy, lossless, max_result_tokens, oauth, pinned, start, timeout_ms, trust, type, url',
    ],
    [
      '/project/toolcrib.toml',
      `[tools]\ntool_threshold = "\${NONE}"`,
      `:1: [tools] NONE has no value; set it, or write \${NONE:-default}`,
    ],
    [
      '/project/mcp.json',
      '{ "mcpServers": { "a": { "command": "x",\n "args": ["x", {}] } } }',
      'mcp.json:2: [mcpServers.a] "args.1" must be a text, not a table',
    ],
    [
      '/project/mcp.json',
      '{ "mcpServers": { "a": { "command": "x", "env": {\n "A": "b",\n "B": [] } } } }',
      'mcp.json:3: [mcpServers.a] "env.B" must be a text, not a list',
    ],
    [
      '/project/toolcrib.toml',
      '[server.a]\ncommand = "x"\ntimeout_ms = 99999999999',
      ':3: [server.a] "timeout_ms" must be a number of milliseconds, 0 to 2147483647, not 99999999999',
    ],
    [
      '/project/mcp.json',
      '{ "mcpServers": { "a\\u202e": { "command": "x" } } }',
      'control or invisible characters',
    ],
  ])('reports the error in %s: %s', async (path, text, message) => {
    await expect(load({ [path]: text })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining(message),
    })
  })

  it('expands variables, and fails only the server whose variable has no value', async () => {
    const text = `{ "mcpServers": {
      "a": { "command": "\${BIN}", "args": ["\${PORT:-80}", "\${env:BIN}", "\${workspaceFolder}/x", "\${EMPTY:-full}"],
        "cwd": "\${configFolder}/../lib" },
      "b": { "command": "node", "env": { "KEY": "\${SECRET}" } } } }`
    const { servers } = await load({ '/project/mcp.json': text }, { env: { BIN: PORT_REFERENCE, EMPTY: '' } })
    expect(plain(servers.a)).toEqual({
      command: PORT_REFERENCE,
      args: ['80', PORT_REFERENCE, '/project/x', 'full'],
      cwd: '/project/../lib',
    })
    expect(servers.b?.problem).toContain('SECRET has no value')
  })

  it('expands defaults that contain variables, and ignores defaults that are not needed', async () => {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of the config, not of this file
    const nested = readConfig(
      {
        mcpServers: {
          a: {
            command: 'x',
            args: [
              '${A:-${HOME}/x}',
              '${SET:-${NONE}}',
              '${A:-${B:-${C:-deep}}}',
              '${A:-{}}',
              'no ${ variable',
              '${A:-open',
            ],
          },
          b: { command: 'x', args: ['${A:-${NONE}}'] },
        },
      },
      { env: { HOME: '/home/me', SET: 'set' } },
    )
    expect(nested.servers.a?.args).toEqual(['/home/me/x', 'set', 'deep', '{}', 'no ${ variable', '${A:-open'])
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of the config, not of this file
    expect(nested.servers.b?.problem).toContain('NONE has no value')
  })

  it.each([
    ['mcp.json', `{ "mcpServers": ${'['.repeat(400_000)}${']'.repeat(400_000)} }`],
    ['mcp.json', `{ "mcpServers": [${'[],'.repeat(400_000)}[]] }`],
    ['toolcrib.toml', `[${'a.'.repeat(400_000)}b]`],
    ['toolcrib.toml', `a = [${'[],'.repeat(400_000)}]`],
  ])('rejects a %s with too many keys and lists before it is parsed', async (name, text) => {
    await expect(parseConfigFile(text, name)).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('more than 10,000 keys, tables and lists'),
    })
  })

  it('rejects a file that is nested too deeply', async () => {
    const text = `{ "mcpServers": ${'['.repeat(50_000)}${']'.repeat(50_000)} }`
    await expect(load({ '/project/mcp.json': text })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('mcp.json: is nested too deeply'),
    })
  })

  it('replaces only the invalid server when onBadServer is given', async () => {
    const text = '[server.a]\ncomand = "x"\n[server.b]\ncommand = "x"'
    const { servers } = await load(
      { '/project/toolcrib.toml': text },
      { onBadServer: ({ message }) => ({ problem: message }) },
    )
    expect(servers.a?.problem).toContain('toolcrib.toml:2: [server.a] unknown key "comand"')
    expect(servers.b).not.toHaveProperty('problem')
    expect(readConfig({ servers }).servers.a?.problem).toBe(servers.a?.problem)
  })

  it('names the environment variable that is invalid, and its value', async () => {
    await expect(load({}, { env: { TOOLCRIB_TOOL_THRESHOLD: 'x' } })).rejects.toMatchObject({
      code: 'config-invalid',
      message: 'the environment variable TOOLCRIB_TOOL_THRESHOLD must be a whole number, 0 or more, not "x"',
    })
  })

  it('accepts numbers, booleans and keywords from variables', async () => {
    const text = `
      [tools]
      registry_mode = "\${MODE:-lazy}"
      tool_threshold = "\${THRESHOLD:-7}"
      [server.a]
      command = "x"
      timeout_ms = "\${T:-5000}"
      lazy = "\${LAZY}"
      start = "\${START:-eager}"
      cwd = "\${FOLDER:-}"
      [server.off]
      command = "x"
      disabled = "\${OFF:-true}"
      [server.wrong]
      command = "x"
      idle_ms = "\${LAZY}"
      [server.nowhere]
      url = "\${LAZY}"`
    const config = await load({ '/project/toolcrib.toml': text }, { env: { LAZY: 'false' } })
    expect(config.tools).toEqual({ mode: 'lazy', toolThreshold: 7 })
    expect(plain(config.servers.a)).toEqual({ command: 'x', timeoutMs: 5000, lazy: false, start: 'eager' })
    expect(Object.keys(config.servers)).toEqual(['a', 'wrong', 'nowhere'])
    expect(config.servers.wrong?.problem).toBe(
      `"idle_ms" must be a number of milliseconds, 0 to 2147483647, but the value of \${LAZY} is not`,
    )
    expect(config.servers.nowhere?.problem).toContain('"url" must be an http or https address')
  })

  it('ignores keys of other programs in their files', async () => {
    const config = await load({
      '/project/mcp.json': JSON.stringify({
        $schema: 'https://example.com/schema.json',
        inputs: [{ type: 'promptString', id: 'key' }],
        'editor.fontSize': 12,
        mcp: { enabled: true },
        projects: {},
        mcpServers: {
          a: {
            command: 'x',
            auth: { type: 'none' },
            comment: 'mine',
            _comment: 'mine',
            trusted: true,
            autoApprove: ['read'],
            alwaysAllow: [],
            disabledTools: [],
            restart: true,
          },
        },
      }),
    })
    expect(plain(config.servers)).toEqual({ a: { command: 'x' } })
  })

  it("accepts other programs' names for our keys", () => {
    const { servers } = readConfig({
      mcpServers: {
        seconds: { command: 'x', timeout: 60 },
        milliseconds: { command: 'x', timeout: 30_000 },
        explicit: { command: 'x', timeoutSec: 90 },
        endless: { command: 'x', timeout: 99_999_999_999 },
        ours: { command: 'x', timeout: 60, timeoutMs: 5 },
        sse: { transportType: 'sse', serverUrl: 'https://x.example/sse' },
        http: { httpUrl: 'https://x.example/mcp' },
        off: { command: 'x', disabled: true },
        oauth: {
          url: 'https://x.example/mcp',
          oauth: { clientId: 'me', clientSecret: 's', scopes: ['read', 'write'], callbackPort: 8080 },
        },
      },
    })
    expect(plain(servers)).toEqual({
      seconds: { command: 'x', timeoutMs: 60_000 },
      milliseconds: { command: 'x', timeoutMs: 30_000 },
      explicit: { command: 'x', timeoutMs: 90_000 },
      endless: { command: 'x', timeoutMs: 2 ** 31 - 1 },
      ours: { command: 'x', timeoutMs: 5 },
      sse: { type: 'sse', url: 'https://x.example/sse' },
      http: { url: 'https://x.example/mcp' },
      oauth: {
        url: 'https://x.example/mcp',
        oauth: { client_id: 'me', client_secret: 's', scope: 'read write' },
      },
    })
  })

  it('reads the tables of mcp_servers', async () => {
    const config = await load({ '/project/toolcrib.toml': '[mcp_servers.a]\ncommand = "x"' })
    expect(plain(config.servers)).toEqual({ a: { command: 'x' } })
  })

  it('returns the same when it reads its own result', async () => {
    const config = await load({ '/project/toolcrib.toml': '[server.a]\ncommand = "x"\ntimeout_ms = 5' })
    expect(readConfig(config).servers).toEqual(config.servers)
  })

  it('returns the same when it reads everything it returned', async () => {
    const config = await load({
      '/project/toolcrib.toml': `require_lock = true
        [tools]
        searcher = "lexical"
        [profile.work]
        mode = "full"`,
    })
    const again = readConfig(config)
    expect(again).toMatchObject({
      searcher: 'lexical',
      requireLock: true,
      profiles: { work: { mode: 'full' } },
    })
  })

  it('reads the host names of the gateway, with variables', async () => {
    const hosts = `[gateway]\nhosts = ["toolcrib", "\${PUBLIC_HOST:-tools.example.com}"]`
    const config = await load({ '/project/toolcrib.toml': hosts })
    expect(config.gateway).toEqual({ hosts: ['toolcrib', 'tools.example.com'] })
    expect(readConfig(config).gateway).toEqual(config.gateway)
    for (const host of ['https://x', 'x:443'])
      await expect(
        load({ '/project/toolcrib.toml': `[gateway]\nhosts = ["${host}"]` }),
      ).rejects.toMatchObject({
        code: 'config-invalid',
        message: expect.stringContaining(`"${host}" is not a bare host name`),
      })
    await expect(load({ '/project/toolcrib.toml': '[gateway]\nhosts = "toolcrib"' })).rejects.toThrow('hosts')
  })

  it("reads what the user always allows, and refuses it in a project's config", async () => {
    const table = '[tools.allow_unasked]\nmcp__disk__wipe = "ab"'
    const env = { HOME: '/home/me' }
    const own = await load(
      { '/home/me/.config/toolcrib/toolcrib.toml': table, '/project/mcp.toml': '' },
      { env },
    )
    expect(own.allowUnasked).toEqual({ mcp__disk__wipe: 'ab' })
    expect(own.tools).toEqual({})
    await expect(load({ '/project/toolcrib.toml': table }, { env })).rejects.toThrow(
      'belongs in your own config',
    )
  })

  it('reads the most tokens of a result: of all, of a profile and of a server', async () => {
    const config = await load({
      '/project/toolcrib.toml': `
        [gateway]
        max_result_tokens = 8000
        [profile.work]
        max_result_tokens = 0
        [server.logs]
        command = "logs"
        max_result_tokens = 500`,
    })
    expect(config.gateway?.maxResultTokens).toBe(8_000)
    expect(config.profiles?.work?.maxResultTokens).toBe(0)
    expect(config.servers.logs?.maxResultTokens).toBe(500)
    expect(readConfig(config).gateway).toEqual(config.gateway)
  })

  it.each([
    ['required', 'off', 'required'],
    ['required', 'arguments', 'required-arguments'],
    ['on', 'off', 'on'],
    ['off', 'on', 'on'],
  ])('a record that is %s for the user and %s in the project is %s', async (own, project, audit) => {
    const files = {
      '/home/me/.config/toolcrib/toolcrib.toml': `[gateway]\naudit = "${own}"`,
      '/project/toolcrib.toml': `[gateway]\naudit = "${project}"`,
    }
    const config = await load(files, { env: { HOME: '/home/me' } })
    expect(config.gateway?.audit).toBe(audit)
    expect(readConfig(config).gateway?.audit).toBe(audit)
  })

  it('reads who may use the gateway, the project over the user', async () => {
    const config = await load(
      {
        '/home/me/.config/toolcrib/toolcrib.toml': `
          [gateway.token.laptop]
          token = "\${LAPTOP}"
          profile = "work"
          [gateway.limits]
          calls_per_minute = 10
          max_sessions = 5`,
        '/project/toolcrib.toml': `
          [gateway.token.desk]
          token = "of the desk"
          [gateway.limits]
          calls_per_minute = 20`,
      },
      { env: { HOME: '/home/me', LAPTOP: 'of the laptop' } },
    )
    expect(config.gateway).toEqual({
      tokens: { laptop: { token: 'of the laptop', profile: 'work' }, desk: { token: 'of the desk' } },
      limits: { callsPerMinute: 20, maxSessions: 5 },
    })
    expect(readConfig(config).gateway).toEqual(config.gateway)
  })

  it('reads an OAuth issuer', async () => {
    const oauth = `[gateway.oauth]
      resource = "https://crib.example.com/mcp"
      issuer = "https://login.example.com"
      jwks_uri = "https://login.example.com/keys"
      audience = "crib"
      scopes = { "crib:all" = "*", "crib:work_and_more" = "work" }`
    expect((await load({ '/project/toolcrib.toml': oauth })).gateway).toEqual({
      oauth: {
        resource: 'https://crib.example.com/mcp',
        issuer: 'https://login.example.com',
        jwksUri: 'https://login.example.com/keys',
        audience: 'crib',
        scopes: { 'crib:all': '*', 'crib:work_and_more': 'work' },
      },
    })
  })

  it.each([
    ['[gateway.oauth]\nresource = "https://a.example/mcp"', '"issuer" is missing'],
    ['[gateway.oauth]\nisuer = "x"', 'did you mean "issuer"?'],
    ['[gateway.token.laptop]\nprofile = "work"', '"token" is missing'],
    [`[gateway.limits]\nmax_sessions = "\${NONE}"`, 'NONE has no value'],
    [
      '[gateway.token.a]\ntoken = "one"\n[gateway.tokens.a]\ntoken = "two"',
      '[gateway.tokens.a] is also in [gateway.token]',
    ],
    ['[gateway.limits]\ncalls_per_minute = "many"', '"calls_per_minute" must be a whole number'],
    ['[gateway.limits]\ncalls_a_minute = 1', 'did you mean "calls_per_minute"?'],
    ['[gateway]\ntokens = 1', '"tokens" must be a table'],
  ])('refuses the gateway %j', async (text, message) => {
    await expect(load({ '/project/toolcrib.toml': text })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining(message),
    })
  })

  it('keeps a token or issuer whose variable has no value as a problem of its own, with nothing to guess', async () => {
    const config = await load({
      '/project/toolcrib.toml': `
        [gateway.token.laptop]
        token = "\${A_LONG_NAME_OF_A_VARIABLE}"
        profile = "work"
        [gateway.tokens.desk]
        token = "of the desk"
        [gateway.oauth]
        resource = "https://crib.example.com/mcp"
        issuer = "\${ISSUER}"
        scopes = { all = "*" }
        [server.a]
        command = "x"`,
    })
    const { oauth, tokens } = config.gateway ?? {}
    expect(tokens).toEqual({
      laptop: {
        token: '',
        profile: 'work',
        problem: expect.stringMatching(
          /toml:\d+.*\[gateway\.token\.laptop\] A_LONG_NAME_OF_A_VARIABLE has no value/,
        ),
      },
      desk: { token: 'of the desk' },
    })
    expect(oauth?.problem).toContain('[gateway.oauth] ISSUER has no value')
    const empty = { gateway: { token: { a: { token: `\${EMPTY}` } } } }
    expect(readConfig(empty, { env: { EMPTY: '' } }).gateway?.tokens?.a).toEqual({
      token: '',
      problem: expect.stringContaining('the variable of "token" is empty; set it'),
    })
    expect(config.servers.a).toMatchObject({ command: 'x' })
    expect(readConfig(config).gateway).toEqual(config.gateway)
  })

  it('reads profiles, the project over the user by name', async () => {
    const config = await load(
      {
        '/home/me/.config/toolcrib/toolcrib.toml': `
          [profile.work]
          servers = ["github"]
          deny = ["*delete*"]
          [profile.home]
          mode = "lazy"
          [server.github]
          command = "github-server"`,
        '/project/toolcrib.toml': `
          [server.jira]
          command = "jira-server"
          [profile.work]
          servers = ["github", "jira"]
          allow = ["mcp__github__*"]
          pinned = ["mcp__jira__search"]
          mode = "full"
          activate = "list"`,
      },
      { env: { HOME: '/home/me' } },
    )
    expect(config.profiles).toEqual({
      work: {
        servers: ['github', 'jira'],
        allow: ['mcp__github__*'],
        pinned: ['mcp__jira__search'],
        mode: 'full',
        activate: 'list',
      },
      home: { mode: 'lazy' },
    })
    expect(Object.keys(config.servers)).toEqual(['github', 'jira'])
  })

  it('refuses a profile that names an unknown server, unless by a glob', async () => {
    const read = (servers: string[]) =>
      readConfig({ mcpServers: { github: { command: 'x' } }, profile: { work: { servers } } })
    expect(() => read(['githb'])).toThrow(
      'profile "work" names the server "githb", which does not exist; the config has github; did you mean "github"?',
    )
    expect(() => read(['jira'])).toThrow(
      'names the server "jira", which does not exist; the config has github',
    )
    expect(read(['github', 'jira*']).profiles).toEqual({ work: { servers: ['github', 'jira*'] } })
  })

  it.each([
    ['[profile.work]\nserver = ["a"]', ':2: [profile.work] unknown key "server"; did you mean "servers"?'],
    ['[profile.work]\nmode = "fast"', ':2: [profile.work] "mode" must be one of full, lazy, auto'],
    ['[profile.work]\nservers = "a"', ':2: [profile.work] "servers" must be a list of strings'],
    ['[profile."a/b"]\nmode = "full"', ':1: [profile.a/b] invalid profile name'],
    ['[profil.work]\nmode = "full"', ':1: unknown key "profil"; did you mean "profile"?'],
    ['profile = "work"', ':1: "profile" must be a table of keys'],
  ])('rejects the profile %j', async (text, message) => {
    await expect(load({ '/project/toolcrib.toml': text })).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(load({ '/project/toolcrib.toml': text })).rejects.toThrow(`/project/toolcrib.toml${message}`)
  })

  it.each([
    ['max_active_schemas', '1.5'],
    ['max_active_schemas', '-1'],
    ['max_active_schemas', 'nan'],
    ['max_active_schemas', 'inf'],
    ['tool_threshold', '0.5'],
    ['threshold_percent', '101'],
    ['context_window', '1.5'],
    ['result_budget_chars', '-80000'],
    ['searches_per_minute', '"many"'],
    ['searcher', '"hybird"'],
    ['defer', '"some"'],
    ['require_lock', '"yes"'],
  ])('rejects %s = %s', async (key, value) => {
    const config = load({ '/project/toolcrib.toml': `[tools]\n${key} = ${value}` })
    await expect(config).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(config).rejects.toThrow(`toolcrib.toml:2: [tools] "${key}" must be`)
  })

  it('accepts a fractional percentage', async () => {
    const { tools } = await load({ '/project/toolcrib.toml': '[tools]\nthreshold_percent = 2.5' })
    expect(tools.thresholdPercent).toBe(2.5)
  })

  it.each(['require_lock = true', '[tools]\nrequire_lock = true'])(
    'keeps the lock that the user requires with %j, even when a project disables it',
    async (text) => {
      const files = {
        '/home/me/.config/toolcrib/toolcrib.toml': text,
        '/project/toolcrib.toml': 'require_lock = false\n[tools]\nrequire_lock = false',
      }
      expect((await load(files, { env: { HOME: '/home/me' } })).requireLock).toBe(true)
      expect((await load(files, { env: {} })).requireLock).toBeUndefined()
      expect((await load(files, { env: { TOOLCRIB_REQUIRE_LOCK: '1' } })).requireLock).toBe(true)
    },
  )

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'treats the unset variable %s as missing',
    async (name) => {
      const { servers } = await load({
        '/project/toolcrib.toml': `[server.a]\ncommand = "x\${${name}}"\nargs = ["\${${name}:-none}"]`,
      })
      expect(servers.a?.problem).toContain(`${name} has no value`)
      expect(servers.a?.args).toEqual(['none'])
    },
  )

  it('fails only the server whose variables are nested too deeply', async () => {
    const nested = (depth: number) => `${'${A:-'.repeat(depth)}x${'}'.repeat(depth)}`
    const { servers } = await load({
      '/project/toolcrib.toml': `
        [server.deep]
        command = "${nested(20_000)}"
        [server.open]
        command = "${'${A:-'.repeat(20_000)}"
        [server.fine]
        command = "${nested(10)}"`,
    })
    expect(servers.deep?.problem).toContain('unknown variable "A:-${A:-')
    expect(servers.deep?.problem?.length).toBeLessThan(300)
    expect(servers.open?.problem).toBeUndefined()
    expect(servers.fine?.command).toBe('x')
  })

  it('rejects an oversized file before parsing it', async () => {
    const large = `[server.a]\ncommand = "x"\n${'#'.repeat(2 * 1024 * 1024)}`
    await expect(load({ '/project/toolcrib.toml': large })).rejects.toMatchObject({
      code: 'config-invalid',
      message: '/project/toolcrib.toml is larger than 2 MiB; keep only the config in it',
    })
    const directory = await mkdtemp(join(tmpdir(), 'toolcrib-large-'))
    const path = join(directory, 'mcp.toml')
    await writeFile(path, large)
    await expect(loadConfig({ cwd: directory, env: {} })).rejects.toThrow(`${path} is larger than 2 MiB`)
    await rm(directory, { recursive: true })
    // It never ends.
    await expect(loadConfig({ cwd: '/', env: {}, path: '/dev/zero' })).rejects.toThrow('larger than 2 MiB')
  })

  it('rejects more than 2,000 servers', async () => {
    const servers = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`s${at}`, { command: 'x' }]))
    const text = JSON.stringify({ mcpServers: servers })
    await expect(load({ '/project/mcp.json': text })).rejects.toThrow(
      '"mcpServers" has 2001 servers; the maximum is 2000',
    )
  })

  it('finds the line of an error after misleading lines', async () => {
    const lines = [
      '[server.a]',
      'command = "x"',
      '[server.a.env]',
      'A = """',
      `[${' '.repeat(50_000)}x`,
      `${'['.repeat(50_000)}`,
      '"""',
      '[ server.c ]',
      '  comand = "x"',
    ]
    await expect(load({ '/project/toolcrib.toml': lines.join('\n') })).rejects.toThrow(
      'toolcrib.toml:9: [server.c] unknown key "comand"',
    )
  })

  it('keeps a server named __proto__ apart from the prototype', () => {
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

  it('reports a replaced file, and keeps the last valid config while a file is partially written', async () => {
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

/** Without the symbol that remembers how a server was written. */
function plain(servers: unknown): unknown {
  return JSON.parse(JSON.stringify(servers))
}

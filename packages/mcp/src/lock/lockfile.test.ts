import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ToolcribError } from '@toolcrib/core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../config/load-config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { readServerTool, type ServerTool } from '../listed/server-tool.ts'
import { approveChanges, changeMatcher } from './approve.ts'
import { changeDigest, compareWithLock } from './compare.ts'
import { hashDefinition, sha256 } from './definition.ts'
import { writeDefinitions } from './lock-definitions.ts'
import { type Lockfile, lockServers, type ObservedServer } from './lockfile.ts'
import { lockfilePath, readLockfile, writeLockfile } from './lockfile-file.ts'
import { readLock, writeLock } from './lockfile-text.ts'
import { commandOf, literalSecrets, saltedDigest } from './server-command.ts'

const echo: ServerTool = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' } }
const NODE: ServerConfig = { command: 'node' }

function observed(...tools: ServerTool[]): Map<string, ObservedServer> {
  return new Map([['a', { config: NODE, tools }]])
}

const anyTool = fc
  .record({
    name: fc.string({ minLength: 1, unit: 'binary' }),
    title: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
    description: fc.string({ unit: 'binary' }),
    inputSchema: fc.dictionary(fc.string(), fc.jsonValue()),
    annotations: fc.option(fc.record({ readOnlyHint: fc.boolean() }), { nil: undefined }),
  })
  .map((listed) => readServerTool(JSON.parse(JSON.stringify(listed))))
  .filter((tool): tool is ServerTool => !('reason' in tool))

function definitionsOf(lockfile: Lockfile): Record<string, unknown> {
  return JSON.parse(writeDefinitions(lockfile))
}

describe('the text of a lockfile', () => {
  it('is read back unchanged, whatever the names and descriptions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyTool), async (tools) => {
        const lockfile = lockServers(observed(...tools))
        const read = await readLock(writeLock(lockfile), 'toolcrib.lock', definitionsOf(lockfile))
        expect(read.servers).toEqual(lockfile.servers)
        expect(compareWithLock(read, observed(...tools))).toEqual([])
        expect(writeLock(read)).toBe(writeLock(lockfile))
        expect(writeDefinitions(read)).toBe(writeDefinitions(lockfile))
        const alone = await readLock(writeLock(lockfile), 'toolcrib.lock')
        expect(compareWithLock(alone, observed(...tools))).toEqual([])
        expect(writeLock(alone)).toBe(writeLock(lockfile))
      }),
      { numRuns: 100 },
    )
  })

  it('does not depend on the order in which servers and tools are listed', () => {
    const other = { ...echo, name: 'other' }
    const one = new Map([...observed(echo, other), ['b', { config: NODE, tools: [] }] as const])
    const two = new Map([['b', { config: NODE, tools: [] }] as const, ...observed(other, echo)])
    expect(writeLock(lockServers(one))).toBe(writeLock(lockServers(two)))
  })

  it('has one line per tool, with its hash, parameters, hints and the start of its description', () => {
    const read: ServerTool = {
      name: 'read',
      description: `Reads a file.\n${'Long. '.repeat(50)}`,
      inputSchema: { type: 'object', properties: { tail: {}, path: {}, head: {} }, required: ['path'] },
      annotations: { readOnlyHint: true },
    }
    const lines = writeLock(lockServers(observed(echo, read))).split('\n')
    expect(lines).toContain(`        "echo": "${hashDefinition('echo', echo)} () Says it again.",`)
    const line = lines.find((each) => each.includes('"read":'))
    expect(line).toMatch(
      /"sha256-[0-9a-f]{64} \(path, head\?, tail\?\) \[read-only\] Reads a file\. Long\. .*…"$/,
    )
    expect(line?.length).toBeLessThan(200)
    expect(lines.length).toBeLessThan(20)
  })

  it('differs in one line when one tool changes', () => {
    const before = lockServers(observed(echo, { ...echo, name: 'other' }))
    const after = lockServers(
      observed({ ...echo, description: 'Says it twice.' }, { ...echo, name: 'other' }),
    )
    const [old, now] = [writeLock(before).split('\n'), writeLock(after).split('\n')]
    expect(now).toHaveLength(old.length)
    expect(now.filter((line, at) => line !== old[at])).toEqual([expect.stringContaining('Says it twice.')])
  })

  it('has hidden characters as escapes, its definitions descriptions line by line, for review', () => {
    const lockfile = lockServers(observed({ ...echo, description: 'One\nTwo\u200b\u{e0041}' }))
    expect(writeLock(lockfile)).toContain('One Two\\u200b\\udb40\\udc41"')
    expect(writeLock(lockfile)).not.toContain('\u200b')
    const text = writeDefinitions(lockfile)
    expect(text).toContain('"One",\n')
    expect(text).toContain('"Two\\u200b\\udb40\\udc41"')
    expect(text).not.toContain('\u200b')
  })

  it('does not approve a tool whose summary is not the one that was reviewed', async () => {
    const text = good.replace('Says it again.', 'Says it once.')
    expect(compareWithLock(await readLock(text, 'x.lock'), observed(echo))).toMatchObject([
      {
        kind: 'tool-changed',
        fields: [{ path: 'summary', before: '() Says it once.', after: '() Says it again.' }],
      },
    ])
  })

  it('approves by hash alone, and shows all of a changed tool, without a matching definition', async () => {
    const other = { a: { echo: { description: 'Forged.', inputSchema: {} } } }
    for (const definitions of [{}, other, { a: [] }]) {
      const read = await readLock(good, 'x.lock', definitions)
      expect(read.servers.get('a')?.tools.get('echo')?.definition).toBeUndefined()
      expect(compareWithLock(read, observed(echo))).toEqual([])
      const now = { ...echo, description: 'Now.' }
      expect(compareWithLock(read, observed(now))).toMatchObject([
        {
          kind: 'tool-changed',
          fields: [
            { path: 'digest', before: hashDefinition('echo', echo), after: hashDefinition('echo', now) },
            { path: 'description', after: 'Now.' },
            { path: 'inputSchema', after: { type: 'object' } },
          ],
        },
      ])
    }
  })

  const locked = lockServers(observed(echo))
  const good = writeLock(locked)
  const damages: Record<string, string> = {
    'is empty': '',
    'is cut off': good.slice(0, -40),
    'is not an object': '[]',
    'is of another version': good.replace('"version": 4', '"version": 5'),
    'has no servers': '{ "version": 4 }',
    'has an invalid server': '{ "version": 4, "servers": { "a": 1 } }',
    'has a "runs" that is not a string': good.replace('"command": {', '"runs": 1, "command": {'),
    'is nested too deeply': good.replace(
      '"command": {',
      `"x": ${'['.repeat(20_000)}${']'.repeat(20_000)}, "command": {`,
    ),
    'has a salt that is not a string': good.replace('"command": {', '"salt": 1, "command": {'),
    'has a description that was edited by hand': good.replace('Says it again.', 'Says it once.'),
    'has a hash that was edited by hand': good.replace(/sha256-\w{4}/g, 'sha256-0000'),
    'has a tool without a hash': good.replace(/sha256-\w+ \(/, '('),
    'has a tool that is not a line': good.replace(/"sha256-\w+ [^"]*"/, '{}'),
    'has a command that was edited by hand': good.replace('"command": "node"', '"command": "bad"'),
    'has instructions, but no prompts': good.replace('"tools": {', '"instructions": {}, "tools": {'),
    'has a prompt without a hash': good.replace(
      '"tools": {',
      '"instructions": {}, "prompts": { "p": "x" }, "resources": {}, "resourceTemplates": {}, "tools": {',
    ),
    'contains a merge conflict': `<<<<<<< ours\n${good}=======\n${good}>>>>>>> theirs\n`,
    'has a duplicate key': good.replace('"echo":', '"echo": "Harmless.",\n "echo":'),
  }

  it.each(Object.entries(damages))('is rejected when it %s', async (_, text) => {
    expect(text).not.toBe(good)
    const definitions = definitionsOf(locked)
    await expect(readLock(text, '/p/toolcrib.lock', definitions)).rejects.toThrow(ToolcribError)
    await expect(readLock(text, '/p/toolcrib.lock', definitions)).rejects.toThrow(
      /\/p\/toolcrib\.lock is damaged/,
    )
  })
})

describe('a lockfile of the old version', () => {
  const tool = {
    ...echo,
    description: 'Says it\nagain.',
    inputSchema: { type: 'object', required: ['b', 'a'] },
  }
  const old = (command: object, version = 1) => {
    const { name, ...definition } = tool
    const hash = version === 1 ? sha256({ name, ...definition }) : hashDefinition(name, definition)
    const tools = { echo: { hash, ...definition, description: ['Says it', 'again.'] } }
    return JSON.stringify({ version, servers: { a: { hash: sha256(command), command, tools } } })
  }
  const changesNow = async (command: object, config: ServerConfig) =>
    compareWithLock(
      await readLock(old(command), 'toolcrib.lock'),
      new Map([['a', { config, tools: [tool] }]]),
    )

  it('still approves servers and tools', async () => {
    expect(await changesNow({ transport: 'stdio', command: 'node' }, NODE)).toEqual([])
    expect(hashDefinition('echo', tool)).not.toBe(sha256(tool))
  })

  it('approves only tools (version 3)', async () => {
    const items = new Map([['prompts', [{ kind: 'prompts', key: 'p', listed: { name: 'p' } }]]] as const)
    const now = new Map([['a', { ...observed(echo).get('a'), config: {}, items }]])
    const text = writeLock(lockServers(now)).replace('"version": 4', '"version": 3')
    expect((await readLock(text, 'x.lock')).servers.get('a')?.items).toBeUndefined()
    expect(
      (await readLock(text.replace('"version": 3', '"version": 4'), 'x.lock')).servers.get('a')?.items,
    ).toBeDefined()
  })

  it.each([1, 2])(
    'is written in the current version, with all that it approved (version %i)',
    async (version) => {
      const before = await readLock(old({ transport: 'stdio', command: 'node' }, version), 'toolcrib.lock')
      const after = await readLock(writeLock(before), 'toolcrib.lock', definitionsOf(before))
      expect(after.servers).toEqual(before.servers)
      expect(after.servers.get('a')?.tools.get('echo')?.definition?.description).toBe(tool.description)
    },
  )

  it('does not approve servers by header names or short digests', async () => {
    const url = 'https://x.example/mcp'
    const headers = { Authorization: 'Bearer s' }
    expect(
      await changesNow({ transport: 'http', url, headers: ['Authorization'] }, { url, headers }),
    ).toMatchObject([{ kind: 'command-changed' }])
    const short = { transport: 'stdio', command: 'x', env: { A: '(secret 0123456789ab)' } }
    expect(await changesNow(short, { command: 'x', env: { A: 'v' } })).toMatchObject([
      { kind: 'command-changed' },
    ])
  })

  it('is rejected when it was edited by hand', async () => {
    const text = old({ transport: 'stdio', command: 'node' })
    expect(text).toContain('again.')
    await expect(readLock(text.replace('again.', 'once.'), 'x.lock')).rejects.toThrow(/is damaged/)
  })
})

describe('a lockfile on disk', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolcrib-lockfile-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is beside the config with the highest precedence', () => {
    expect(lockfilePath({ files: ['/home/u/toolcrib.toml', '/p/.mcp.json'] }, '/p')).toBe('/p/toolcrib.lock')
    expect(lockfilePath({ files: [] }, '/p')).toBe('/p/toolcrib.lock')
  })

  it('is replaced atomically, and leaves no temporary files', async () => {
    const path = join(folder, 'toolcrib.lock')
    const lockfile = lockServers(observed(echo))
    await Promise.all(Array.from({ length: 20 }, () => writeLockfile(path, lockfile)))
    expect(await readFile(path, 'utf8')).toBe(writeLock(lockfile))
    expect(await readdir(folder)).toEqual(['toolcrib.lock', 'toolcrib.lock.gz'])
  })

  it('has its definitions beside it, compressed, and does without them', async () => {
    const path = join(folder, 'toolcrib.lock')
    const lockfile = lockServers(observed(echo))
    await writeLockfile(path, lockfile)
    expect((await readLockfile(path))?.servers).toEqual(lockfile.servers)
    const { mtimeMs } = await stat(`${path}.gz`)
    await writeLockfile(path, lockfile)
    expect((await stat(`${path}.gz`)).mtimeMs).toBe(mtimeMs)
    for (const damage of [
      Buffer.from('no gzip'),
      gzipSync('{'),
      gzipSync(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    ]) {
      await writeFile(`${path}.gz`, damage)
      expect((await readLockfile(path))?.servers.get('a')?.tools.get('echo')?.hash).toBe(
        hashDefinition('echo', echo),
      )
    }
    await rm(`${path}.gz`)
    const read = await readLockfile(path)
    expect(read && compareWithLock(read, observed(echo))).toEqual([])
  })

  it('stays at the target of its link, and keeps its mode', async () => {
    const [path, link] = [join(folder, 'kept.lock'), join(folder, 'toolcrib.lock')]
    await writeFile(path, '')
    await chmod(path, 0o600)
    await symlink(path, link)
    const lockfile = lockServers(observed(echo))
    await writeLockfile(link, lockfile)
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect(await readFile(path, 'utf8')).toBe(writeLock(lockfile))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('may be missing, unless its path was given', async () => {
    const path = join(folder, 'typo.lock')
    expect(await readLockfile(path)).toBeUndefined()
    await expect(readLockfile(path, { mustExist: true })).rejects.toMatchObject({
      code: 'config-invalid',
      message: `lockfile ${path} does not exist; correct the path, or write it with "toolcrib lock"`,
    })
    await writeLockfile(path, lockServers(observed(echo)))
    expect((await readLockfile(path, { mustExist: true })).servers.size).toBe(1)
  })

  it('throws when it cannot be read or written', async () => {
    await expect(readLockfile(folder)).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(writeLockfile(join(folder, 'no', 'x.lock'), lockServers(observed()))).rejects.toMatchObject({
      code: 'config-invalid',
    })
    await writeFile(join(folder, 'toolcrib.lock'), '{')
    await expect(readLockfile(join(folder, 'toolcrib.lock'))).rejects.toMatchObject({
      code: 'config-invalid',
    })
  })
})

describe('a command in a lockfile', () => {
  const command = (server: object) => {
    const { servers } = readConfig({ servers: { a: server } }, { env: { TOKEN: 'value' } })
    return commandOf(servers.a ?? {}, saltedDigest('salt'))
  }

  it('has the names of variables and headers, and digests in place of their values', () => {
    const digest = expect.stringMatching(/^\(secret [0-9a-f]{64}\)$/)
    expect(command({ command: 'x', env: { A: 'hunter2' } })).toEqual({
      transport: 'stdio',
      command: 'x',
      env: { A: digest },
    })
    expect(command({ url: 'https://x.example/mcp', headers: { Authorization: 'Bearer s' } })).toEqual({
      transport: 'http',
      url: 'https://x.example/mcp',
      headers: { Authorization: digest },
    })
  })

  it('has digests that differ between lockfiles', async () => {
    const server = new Map([['a', { config: { command: 'x', env: { A: '1' } }, tools: [] }]])
    const [one, two] = [lockServers(server), lockServers(server)]
    expect(one.servers.get('a')?.command).not.toEqual(two.servers.get('a')?.command)
    expect(compareWithLock(one, server)).toEqual([])
    expect(compareWithLock(await readLock(writeLock(two), 'x.lock'), server)).toEqual([])
  })

  it('is written identically while nothing changes', () => {
    const server = new Map([['a', { config: { command: 'x', env: { A: '1' } }, tools: [echo] }]])
    const before = lockServers(server)
    expect(writeLock(lockServers(server, before))).toBe(writeLock(before))
    const changed = new Map([['a', { config: { command: 'x', env: { A: '1', B: '2' } }, tools: [echo] }]])
    const { lockfile } = approveChanges(before, changed, () => true)
    expect(lockfile.servers.get('a')?.command.env?.A).toBe(before.servers.get('a')?.command.env?.A)
  })

  it('changes with the value of a header, but not with the value of a variable in it', () => {
    const at = (token: string, value: string) => {
      const server = { url: 'https://x.example/mcp', headers: { Authorization: value, 'X-Org': 'mine' } }
      const { servers } = readConfig({ servers: { a: server } }, { env: { TOKEN: token } })
      return new Map([['a', { config: servers.a ?? {}, tools: [] }]])
    }
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const written = 'Bearer ${TOKEN}'
    const lockfile = lockServers(at('one', written))
    expect(lockfile.servers.get('a')?.command.headers).toMatchObject({ Authorization: written })
    expect(compareWithLock(lockfile, at('two', written))).toEqual([])
    const literal = lockServers(at('', 'Bearer one'))
    expect(writeLock(literal)).not.toContain('one')
    expect(compareWithLock(literal, at('', 'Bearer two'))).toMatchObject([
      { kind: 'command-changed', fields: [{ path: 'headers.Authorization' }] },
    ])
  })

  it('shows no digest of an unapproved server', () => {
    const now = new Map([['a', { config: { command: 'x', env: { A: '1' } }, tools: [] }]])
    expect(compareWithLock({ servers: new Map() }, now)).toMatchObject([
      {
        kind: 'server-added',
        fields: [
          { path: 'command', after: 'x' },
          { path: 'env', after: { A: '(secret)' } },
          { path: 'transport' },
        ],
      },
    ])
  })

  it('never contains what looks like a secret, and changes with it', () => {
    const secrets = [
      { command: 'x', args: ['--api-key', 'hunter2hunter2'] },
      { command: 'x', args: ['--token=hunter2hunter2'] },
      { command: 'x', args: ['postgres://me:hunter2hunter2@db/x'] },
      { url: 'https://x.example/mcp?api_key=hunter2hunter2' },
      { command: 'x', args: ['ghp_hunter2hunter2hunter2'] },
      { command: 'x', args: ['https://ghp_hunter2hunter2@x.example'] },
      { command: 'x', args: ['--key', 'hunter2hunter2'] },
      { command: 'x', args: ['--accessToken', 'hunter2hunter2'] },
      { command: 'x', args: ['--header', 'Authorization: Bearer hunter2hunter2'] },
      { command: 'x', args: ['-H', 'X-Whatever:hunter2hunter2'] },
      { command: 'x', args: ['--header=Authorization: hunter2hunter2'] },
      { command: 'x', args: ['--url=https://x.example/?key=hunter2hunter2'] },
      { command: 'x', args: ['--env', 'A=hunter2hunter2'] },
      { command: 'x', args: ['--env=A=hunter2hunter2'] },
      { command: 'env', args: ['API_KEY=hunter2hunter2', 'x'] },
      { command: 'docker', args: ['run', '-e', 'A=hunter2hunter2', 'image'] },
      { command: 'sudo', args: ['/usr/bin/podman', 'run', '-e', 'A=hunter2hunter2', 'image'] },
      { command: 'x', env: { A: 'hunter2hunter2' } },
      { url: 'https://x.example/mcp', headers: { 'X-Org': 'hunter2hunter2' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
      { command: 'x', args: ['--token', '${NONE:-hunter2hunter2}'] },
      { url: 'https://x.example/mcp?key=hunter2hunter2' },
      { url: 'https://x.example/s/hunter2hunter2a1b2/mcp' },
      { url: 'https://x.example/mcp#access_token=hunter2hunter2' },
      { command: 'x', args: ['{"apiKey": "a\\"b,hunter2hunter2", "n": 1}'] },
      { command: 'x', args: ['--config', '{"auth":{"clientSecret": "hunter2hunter2"}}'] },
      { command: 'x', args: [JSON.stringify({ inner: JSON.stringify({ token: 'hunter2hunter2' }) })] },
      { command: 'x', args: ["{'password': 'hunter2hunter2'}"] },
      { command: 'x', args: ['postgres://u:pa/ss@hunter2hunter2@h/db'] },
      { command: 'x', args: ['postgres://u:pa?ss#hunter2hunter2@h/db'] },
      { command: 'x', args: ['--dsn', 'DSN=postgres://u:hunter2hunter2@h/db'] },
      { command: 'x', args: ['--clientsecret', 'hunter2hunter2'] },
      { command: 'x', args: ['--accesstoken', 'hunter2hunter2'] },
      { command: 'x', args: ['--access-token', '-hunter2hunter2'] },
      { command: 'x', args: ['--access-token', '--hunter2hunter2'] },
      { command: 'x', args: ['Server=h;Password=hun ter2 hunter2hunter2;Database=d'] },
      { command: 'x', args: ['--with', 'Authorization: Bearer hunter2hunter2'] },
      { command: 'sh', args: ['-c', 'API_KEY=hunter2hunter2 npx x'] },
    ]
    for (const secret of secrets) {
      const other = JSON.parse(JSON.stringify(secret).replaceAll('hunter2hunter2', 'hunter3hunter3'))
      expect(JSON.stringify(command(secret))).not.toContain('hunter2')
      expect(command(secret)).not.toEqual(command(other))
    }
  })

  it('keeps variables as they are written', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const args = ['--token', '${TOKEN}', '--header', 'Authorization: Bearer ${TOKEN}', '--folder', '/data']
    expect(command({ command: 'x', args }).args).toEqual(args)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const env = { A: '${TOKEN}', B: '${env:TOKEN}', C: '${NONE:-${TOKEN}}' }
    expect(command({ command: 'x', env }).env).toEqual(env)
  })

  it('shows code to the reviewer', () => {
    for (const code of ['x=require("./evil")', 'key=require("./evil")', 'const token=evil.of(key)']) {
      const args = ['-e', code]
      expect(command({ command: 'node', args }).args).toEqual(args)
    }
  })

  it('shows values that only resemble a secret', () => {
    const args = [
      '-y',
      '@scope/monkey-server@1.2.3',
      '--use-auth',
      '--read-only',
      '--tokenizer',
      'cl100k',
      'https://x.example:8080/pkg@1.2/readme',
      'https://x.example/my-long-server-name-v2-production/mcp?user=a@b.example',
      'C:\\Users\\me',
      '{"mode": "fast", "keys": 3}',
    ]
    expect(command({ command: 'npx', args }).args).toEqual(args)
  })

  it('reports where a literal looks like a secret, without its value', () => {
    const { servers } = readConfig({
      servers: {
        a: {
          command: 'x',
          args: ['--token', 'abc', '--mode', 'fast'],
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
          env: { API_KEY: 'abc', SECRET: '${TOKEN:-}', NODE_ENV: 'production' },
        },
        b: { url: 'https://u:abc@x.example/mcp', headers: { Authorization: 'Bearer abc' } },
      },
    })
    expect(literalSecrets(servers.a ?? {})).toEqual(['args.1', 'env.API_KEY'])
    expect(literalSecrets(servers.b ?? {})).toEqual(['url', 'headers.Authorization'])
  })

  it('distinguishes folders and transports', () => {
    expect(command({ command: './x', cwd: '/a' })).not.toEqual(command({ command: './x', cwd: '/b' }))
    const both = { command: 'x', url: 'https://x.example/mcp' }
    expect(command({ ...both, type: 'stdio' })).not.toEqual(command({ ...both, type: 'http' }))
  })
})

describe('comparing', () => {
  const fieldsOf = (before: ObservedServer, after: ObservedServer) => {
    const [change] = compareWithLock(lockServers(new Map([['a', before]])), new Map([['a', after]]))
    return change && 'fields' in change ? change.fields : []
  }

  it('reports an inserted or removed argument as one change', () => {
    const started = (...args: string[]) => ({ config: { command: 'x', args }, tools: [] })
    expect(fieldsOf(started('-y', 'pkg', '/data'), started('-y', 'pkg', '--rw', '/data'))).toEqual([
      { path: 'args.2', after: '--rw' },
    ])
    expect(fieldsOf(started('-y', 'pkg', '/data'), started('pkg', '/data'))).toEqual([
      { path: 'args.0', before: '-y' },
    ])
    expect(fieldsOf(started('-y', 'pkg', '/data'), started('-y', 'pkg@2', '/data'))).toEqual([
      { path: 'args.1', before: 'pkg', after: 'pkg@2' },
    ])
  })

  it('ignores the order of lists that are sets', () => {
    const taking = (...cities: string[]) => ({
      config: NODE,
      tools: [
        {
          ...echo,
          inputSchema: {
            type: cities[0] === 'Oslo' ? ['object', 'null'] : ['null', 'object'],
            properties: { city: { enum: cities }, day: { default: 'today' } },
            required: cities[0] === 'Oslo' ? ['city', 'day'] : ['day', 'city'],
          },
        },
      ],
    })
    expect(fieldsOf(taking('Oslo', 'Rome'), taking('Rome', 'Oslo'))).toEqual([])
    expect(fieldsOf(taking('Oslo', 'Rome'), taking('Oslo', 'Rome', 'Bern'))).toEqual([
      { path: 'inputSchema.properties.city.enum.0', after: 'Bern' },
    ])
  })

  it('respects the order where it matters', () => {
    const taking = (schema: object) => ({ config: NODE, tools: [{ ...echo, inputSchema: { ...schema } }] })
    const ordered: [object, object][] = [
      [{ prefixItems: [{ type: 'string' }, {}] }, { prefixItems: [{}, { type: 'string' }] }],
      [{ default: { enum: [1, 2] } }, { default: { enum: [2, 1] } }],
      [{ examples: ['a', 'b'] }, { examples: ['b', 'a'] }],
      [{ enum: [[1, 2]] }, { enum: [[2, 1]] }],
    ]
    for (const [before, after] of ordered) expect(fieldsOf(taking(before), taking(after))).not.toEqual([])
  })

  it('reports an added null', () => {
    const taking = (city: object) => ({
      config: NODE,
      tools: [{ ...echo, inputSchema: { type: 'object', properties: { city } } }],
    })
    expect(fieldsOf(taking({ enum: ['Oslo'] }), taking({ enum: ['Oslo', null], default: null }))).toEqual([
      { path: 'inputSchema.properties.city.default', after: null },
      { path: 'inputSchema.properties.city.enum.1', after: null },
    ])
  })
})

describe('approving', () => {
  const before = lockServers(observed(echo))
  const changed = { ...echo, title: 'Echo' }
  const extra = { ...echo, name: 'extra' }

  it('approves the named changes, and leaves the rest pending', () => {
    const now = observed(changed, extra)
    for (const pattern of ['mcp__a__echo', 'a.echo', 'mcp__*__ec*']) {
      const { lockfile, approved } = approveChanges(before, now, changeMatcher([pattern]))
      expect(approved).toMatchObject([{ kind: 'tool-changed', tool: 'echo' }])
      expect(compareWithLock(lockfile, now)).toMatchObject([{ kind: 'tool-added', tool: 'extra' }])
    }
    const { lockfile } = approveChanges(before, now, changeMatcher(['a']))
    expect(compareWithLock(lockfile, now)).toEqual([])
    expect(approveChanges(before, now, changeMatcher(['b', 'echo'])).approved).toEqual([])
  })

  it('approves by digest only the reviewed change, not a later one', () => {
    const now = observed(changed, extra)
    const seen = new Map(compareWithLock(before, now).map((change) => [change.kind, changeDigest(change)]))
    const later = observed(changed, { ...extra, description: 'Asks for keys.' })
    const looked = [`a.echo@${seen.get('tool-changed')}`, `mcp__a__extra@${seen.get('tool-added')}`]
    expect(approveChanges(before, later, changeMatcher(looked)).approved).toMatchObject([{ tool: 'echo' }])
    expect(approveChanges(before, now, changeMatcher(looked)).approved).toHaveLength(2)
    expect(approveChanges(before, now, changeMatcher([`a@${'0'.repeat(16)}`])).approved).toEqual([])
  })

  it('approves a server by its digest without unreviewed tools', () => {
    const now = new Map([...observed(echo), ['b', { config: NODE, tools: [echo] }] as const])
    const [added] = compareWithLock(before, now)
    const pattern = added ? `b@${changeDigest(added)}` : ''
    const { lockfile } = approveChanges(before, now, changeMatcher([pattern]))
    const { name: _, ...definition } = echo
    expect(compareWithLock(lockfile, now)).toEqual([
      { kind: 'tool-added', server: 'b', tool: 'echo', name: 'mcp__b__echo', definition },
    ])
  })

  it('approves a new server together with the named tools', () => {
    const now = new Map([...observed(echo), ['b', { config: NODE, tools: [echo, extra] }] as const])
    const { lockfile } = approveChanges(before, now, changeMatcher(['b.echo']))
    expect(compareWithLock(lockfile, now)).toMatchObject([{ kind: 'tool-added', server: 'b', tool: 'extra' }])
  })

  it('does not approve a server whose tools are unknown', () => {
    const now = new Map([...observed(echo), ['b', { config: NODE }] as const])
    const { lockfile, approved } = approveChanges(before, now, () => true)
    expect(approved).toEqual([])
    expect(lockfile.servers.has('b')).toBe(false)
  })

  it('drops removed servers and tools', () => {
    const { lockfile } = approveChanges(before, new Map(), () => true)
    expect(lockfile.servers.size).toBe(0)
    expect(approveChanges(before, observed(), () => true).lockfile.servers.get('a')?.tools.size).toBe(0)
  })

  it('leaves nothing to approve once everything is approved', () => {
    fc.assert(
      fc.property(fc.array(anyTool), fc.array(anyTool), (first, second) => {
        const { lockfile } = approveChanges(lockServers(observed(...first)), observed(...second), () => true)
        expect(compareWithLock(lockfile, observed(...second))).toEqual([])
      }),
    )
  })
})

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { approveChanges } from './approve.ts'
import { compareWithLock } from './compare.ts'
import { lockServers } from './lockfile.ts'
import { readLock, writeLock } from './lockfile-text.ts'
import { pinTo, runnerCallOf } from './package-runner.ts'
import { whatRuns } from './what-runs.ts'

const DIGEST = `ghcr.io/me/server@sha256:${'a'.repeat(64)}`

describe('the package that a command runs', () => {
  it.each([
    ['npx', ['-y', 'server'], ['-y', 'PINNED']],
    ['npx.cmd', ['--yes', '@scope/server@latest', '--port', '1'], ['--yes', 'PINNED', '--port', '1']],
    ['/usr/bin/npx', ['-p', 'server', 'bin', '-x'], ['-p', 'PINNED', 'bin', '-x']],
    ['npx', ['--package=server', 'bin'], ['--package=PINNED', 'bin']],
    ['uvx', ['--python', '3.12', 'server'], ['--python', '3.12', 'PINNED']],
    ['uvx', ['--from', 'server', 'bin'], ['--from', 'PINNED', 'bin']],
    [
      'docker',
      ['run', '-i', '--rm', '-e', 'TOKEN', '--name=x', 'me/server:1', 'stdio'],
      ['run', '-i', '--rm', '-e', 'TOKEN', '--name=x', 'PINNED', 'stdio'],
    ],
  ])('is found and pinned in %s %j', (command, args, pinned) => {
    expect(pinTo({ command, args }, 'PINNED')).toEqual({ command, args: pinned })
  })

  it.each([
    ['node', ['server.js']],
    ['npx', ['-c', 'server']],
    ['npx', ['-p', 'a', '-p', 'b', 'a']],
    ['npx', ['./folder']],
    ['npx', ['github:me/server']],
    ['npx', ['-y']],
    ['npx', ['-y', `$${'{PACKAGE}'}`]],
    ['docker', ['compose', 'up']],
    ['constructor', ['x']],
  ])('is not guessed in %s %j', (command, args) => {
    expect(runnerCallOf({ command, args })).toBeUndefined()
    expect(pinTo({ command, args }, 'PINNED')).toEqual({ command, args })
  })
})

describe('what ran', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolcrib-runs-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const write = async (path: string, text: string, mode = 0o644) => {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text, { mode })
  }
  const runs = (command: string, ...args: string[]) =>
    whatRuns(
      { command, args },
      { cwd: join(folder, 'project'), env: { HOME: folder, PATH: process.env.PATH } },
    )

  it('is read from the cache of npx', async () => {
    const key = createHash('sha512').update('@scope/server@latest').digest('hex').slice(0, 16)
    await write(`.npm/_npx/${key}/node_modules/@scope/server/package.json`, '{"version":"1.4.2"}')
    expect(await runs('npx', '-y', '@scope/server@latest')).toBe('@scope/server@1.4.2')
    expect(await runs('npx', '-y', '@scope/server')).toBeUndefined()
  })

  it('is read from the installed packages of the project', async () => {
    await write('project/node_modules/server/package.json', '{"version":"3.0.0"}')
    expect(await runs('npx', 'server')).toBe('server@3.0.0')
  })

  it('is read from the cache of uv, unless there are several', async () => {
    await write('.cache/uv/archive-v0/one/my_server-0.3.1.dist-info/METADATA', '')
    expect(await runs('uvx', 'my-server')).toBe('my-server@0.3.1')
    await write('.cache/uv/archive-v0/two/my_server-0.4.0.dist-info/METADATA', '')
    expect(await runs('uvx', 'my-server')).toBeUndefined()
  })

  it('is queried from Docker', async () => {
    await write('docker', `#!/bin/sh\n[ "$5" = me/server:1 ] && echo '["${DIGEST}"]' || exit 1\n`, 0o755)
    const docker = join(folder, 'docker')
    expect(await runs(docker, 'run', '-i', '--rm', 'me/server:1')).toBe(DIGEST)
    expect(await runs(docker, 'run', '-i', '--rm', 'me/other:1')).toBeUndefined()
    expect(await runs(join(folder, 'none', 'docker'), 'run', 'me/server:1')).toBeUndefined()
  })

  it('is not recorded when the config names it exactly, or the file is invalid', async () => {
    await write('project/node_modules/server/package.json', '{"version":"1.0.0"}')
    await write('project/node_modules/odd/package.json', '{"version":"1.0.0 --registry=x"}')
    await write('project/node_modules/bad/package.json', '{')
    expect(await runs('npx', 'server@1.0.0')).toBeUndefined()
    expect(await runs('npx', 'odd')).toBeUndefined()
    expect(await runs('npx', 'bad')).toBeUndefined()
    expect(await runs('node', 'server')).toBeUndefined()
  })
})

describe('a package in a lockfile', async () => {
  const config = { command: 'npx', args: ['server'] }
  const observed = (runs?: string) => new Map([['a', { config, tools: [], runs }]])
  const locked = await readLock(writeLock(lockServers(observed('server@1.0.0'))), 'toolcrib.lock')

  it('that changed must be approved again', () => {
    expect(compareWithLock(locked, observed('server@1.0.0'))).toEqual([])
    expect(compareWithLock(locked, observed())).toEqual([])
    const changes = compareWithLock(locked, observed('server@1.1.0'))
    expect(changes).toEqual([
      {
        kind: 'command-changed',
        server: 'a',
        fields: [{ path: 'runs', before: 'server@1.0.0', after: 'server@1.1.0' }],
      },
    ])
    const { lockfile } = approveChanges(locked, observed('server@1.1.0'), () => true)
    expect(lockfile.servers.get('a')?.runs).toBe('server@1.1.0')
  })
})

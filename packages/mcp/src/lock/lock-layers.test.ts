import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ToolRegistry } from '@toolcrib/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../config/load-config.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import { ValueFolder } from '../stores/files/value-folder.ts'
import { approveChanges, changeMatcher } from './approve.ts'
import { compareWithLock } from './compare.ts'
import { LockGuard } from './lock-guard.ts'
import { lockInForce, lockPlaces, readLocks, writeLocks } from './lock-layers.ts'
import { lockServers, type ObservedServer } from './lockfile.ts'
import { readLockfile, writeLockfile } from './lockfile-file.ts'

const echo: ServerTool = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' } }

describe('the lockfiles of a user and a project', () => {
  let user = ''
  let cwd = ''
  beforeEach(async () => {
    user = await mkdtemp(join(tmpdir(), 'toolcrib-user-'))
    cwd = await mkdtemp(join(tmpdir(), 'toolcrib-project-'))
  })
  afterEach(() => Promise.all([user, cwd].map((folder) => rm(folder, { recursive: true }))))

  async function configure(users: object, projects: object): Promise<Config> {
    await writeFile(join(user, 'mcp.json'), JSON.stringify({ mcpServers: users }))
    await writeFile(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: projects }))
    return loadConfig({ cwd, env: {}, userDirectory: user })
  }

  const observe = (config: Config, tools = [echo]): Map<string, ObservedServer> =>
    new Map(Object.entries(config.servers).map(([name, server]) => [name, { config: server, tools }]))
  const userLock = () => join(user, 'toolcrib.lock')
  const projectLock = () => join(cwd, 'toolcrib.lock')
  const lock = (path: string, ...names: string[]) =>
    writeLockfile(
      path,
      lockServers(new Map(names.map((name) => [name, { config: { command: name }, tools: [echo] }]))),
    )
  const inForce = async (config: Config) => lockInForce(await readLocks(lockPlaces(config, { cwd })))
  const refusals = async (config: Config) => {
    const guard = new LockGuard(new ToolRegistry(), await inForce(config))
    return Object.entries(config.servers)
      .filter(([name, server]) => guard.refusal(name, server) !== undefined)
      .map(([name]) => name)
  }

  it('check each server against the one beside the file that defines it', async () => {
    await lock(userLock(), 'mine')
    const config = await configure({ mine: { command: 'other' } }, { ours: { command: 'ours' } })
    expect(await refusals(config)).toEqual(['mine'])
    await lock(projectLock(), 'ours')
    expect(await refusals(config)).toEqual(['mine'])
    await lock(projectLock(), 'ours', 'mine')
    expect(await refusals(config)).toEqual(['mine'])
  })

  it("check only the project's servers when the user has no lockfile", async () => {
    await lock(projectLock(), 'ours')
    const config = await configure({ mine: { command: 'mine' } }, { ours: { command: 'other' } })
    expect(await refusals(config)).toEqual(['ours'])
  })

  it('do not report a server that is disabled, or defined by another file now', async () => {
    await lock(userLock(), 'mine', 'taken', 'gone')
    await lock(projectLock(), 'ours', 'off', 'taken')
    const config = await configure(
      { mine: { command: 'mine' }, taken: { command: 'old' } },
      {
        mine: { disabled: true },
        ours: { command: 'ours' },
        off: { command: 'x', disabled: true },
        taken: { command: 'taken' },
      },
    )
    const lockfile = (await inForce(config)) ?? { servers: new Map() }
    expect(compareWithLock(lockfile, observe(config))).toEqual([{ kind: 'server-removed', server: 'gone' }])
  })

  it('store each approval where it belongs, and keep those of unused servers', async () => {
    await lock(userLock(), 'mine', 'resting')
    await lock(projectLock(), 'ours')
    const config = await configure(
      { mine: { command: 'mine' }, resting: { command: 'resting', disabled: true } },
      { ours: { command: 'ours' } },
    )
    const layers = await readLocks(lockPlaces(config, { cwd }))
    const lockfile = lockInForce(layers) ?? { servers: new Map() }
    const now = observe(config, [{ ...echo, title: 'Echo' }])
    const untouched = await readFile(projectLock(), 'utf8')
    const next = approveChanges(lockfile, now, changeMatcher(['mine']))
    expect(await writeLocks(layers, next.lockfile)).toEqual([userLock()])
    expect(await readFile(projectLock(), 'utf8')).toBe(untouched)
    const written = await readLockfile(userLock(), { mustExist: true })
    expect([...written.servers.keys()]).toEqual(['mine', 'resting'])
    expect(written.servers.get('mine')?.tools.get('echo')?.definition?.title).toBe('Echo')
  })

  it('are a single file when a path is given', async () => {
    const config = await configure(
      { mine: { command: 'x' } },
      { ours: { command: 'x' }, off: { disabled: true } },
    )
    expect(lockPlaces(config, { cwd, path: 'all.lock' })).toEqual([
      { path: 'all.lock', servers: new Set(['mine', 'ours']), resting: new Set(['off']) },
    ])
  })

  it('are rejected when one of them is damaged', async () => {
    await writeFile(userLock(), '{')
    const config = await configure({ mine: { command: 'x' } }, {})
    await expect(inForce(config)).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('keep all concurrent approvals', async () => {
    const tools = Array.from({ length: 6 }, (_, at) => ({ ...echo, name: `tool${at}` }))
    await lock(projectLock(), 'ours')
    const config = await configure({}, { ours: { command: 'ours' } })
    const observed = observe(config, tools)
    const approved = await Promise.all(
      tools.map(async ({ name }) => {
        const locks = await readLocks(lockPlaces(config, { cwd }))
        const lockfile = lockInForce(locks)
        if (!lockfile) throw new Error('no lockfile')
        const approval = approveChanges(lockfile, observed, changeMatcher([`ours.${name}`]))
        await writeLocks(locks, approval.lockfile)
        return approval.approved.length
      }),
    )
    expect(approved).toEqual([1, 1, 1, 1, 1, 1])
    const written = await readLockfile(projectLock(), { mustExist: true })
    expect([...(written.servers.get('ours')?.tools.keys() ?? [])].sort()).toEqual([
      'echo',
      ...tools.map(({ name }) => name),
    ])
    expect(await readdir(cwd)).not.toContain('toolcrib.lock.writing')
  })

  it('keep approvals of a new server by another process, each with its own salt', async () => {
    await lock(projectLock(), 'ours')
    const config = await configure(
      {},
      { ours: { command: 'ours' }, new: { command: 'new', env: { A: 'b' } } },
    )
    const locks = await readLocks(lockPlaces(config, { cwd }))
    const [first, second] = ['one', 'two'].map((name) => {
      const lockfile = lockInForce(locks)
      if (!lockfile) throw new Error('no lockfile')
      const observed = observe(config, [{ ...echo, name }])
      return approveChanges(lockfile, observed, changeMatcher(['new'])).lockfile
    })
    if (!first || !second) throw new Error('no approval')
    await writeLocks(locks, first)
    await writeLocks(locks, second)
    const written = await readLockfile(projectLock(), { mustExist: true })
    expect([...(written.servers.get('new')?.tools.keys() ?? [])]).toEqual(['one', 'two'])
    expect(await refusals(config)).toEqual([])
  })

  it('are written although a process died while writing them', async () => {
    const dead = new ValueFolder(join(cwd, 'toolcrib.lock.writing'), cwd)
    await dead.replace(undefined, Buffer.from('dead'), 1)
    await lock(projectLock(), 'ours')
    expect(await readdir(cwd)).toEqual(['toolcrib.lock', 'toolcrib.lock.gz'])
  })
})

import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, ToolRegistry } from '@toolcrib/core'
import { readConfig } from '@toolcrib/mcp'
import { expect, it, onTestFinished } from 'vitest'
import { openScripts } from './open-scripts.ts'

const ENABLED = { scripts: { enabled: true } }
const ASKS = 'return await tools.wipe({})'

async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-scripts-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** Runs a script in a new process of the same gateway. */
async function run(config: object, env: Record<string, string>, store = memoryStore(), code = ASKS) {
  const options = await openScripts(readConfig(config), env, store)
  const registry = new ToolRegistry({ ...options, policy: { ask: ['wipe'] } })
  registry.registerFunction(() => 'wiped', {
    ...{ name: 'wipe', description: 'Wipes.', inputSchema: { type: 'object' } },
  })
  const session = await registry.openSession({ id: 'ada' })
  const call = { toolCallId: '1', name: 'run_script', args: { code } }
  const [waiting] = await session.execute([call])
  const [paused] = await session.scripts.paused()
  if (paused) await session.scripts.decide(paused.run, { 1: true })
  return { waiting: waiting?.result, paused }
}

it('scripts are off unless the config enables them', async () => {
  expect(await openScripts(readConfig({}), {})).toEqual({})
  expect(await openScripts(readConfig({ scripts: { enabled: false } }), {})).toEqual({})
  expect(await openScripts(readConfig(ENABLED), {})).toMatchObject({ scripts: expect.anything() })
})

it('makes a key once, which only its owner can read, and later processes use it', async () => {
  const state = await stateFolder()
  const env = { XDG_STATE_HOME: state }
  const store = memoryStore()
  expect(await run(ENABLED, env, store)).toMatchObject({ waiting: { code: 'paused' } })
  const path = join(state, 'toolcrib', 'scripts-key')
  if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600)
  const key = await readFile(path, 'utf8')
  // The second process can open what the first one stored.
  expect(await run(ENABLED, env, store)).toMatchObject({ waiting: { ok: true } })
  expect(await readFile(path, 'utf8')).toBe(key)
})

it('takes the key of the config, which replicas share', async () => {
  const store = memoryStore()
  const config = { scripts: { enabled: true, key: 'x'.repeat(32) } }
  await run(config, {}, store)
  expect(await run(config, {}, store)).toMatchObject({ waiting: { ok: true } })
  const another = `${ASKS} // another`
  await run(config, {}, store, another)
  const other = { scripts: { enabled: true, key: 'y'.repeat(32) } }
  expect(await run(other, {}, store, another)).toMatchObject({
    waiting: { error: expect.stringContaining('another key') },
  })
})

it('refuses unknown keys of [scripts], and a short key', () => {
  expect(() => readConfig({ scripts: { enable: true } })).toThrow('enabled')
  expect(() => readConfig({ scripts: { enabled: true, key: 'short' } })).toThrow('at least 32 characters')
  expect(() => readConfig({ scripts: { enabled: 'yes' } })).toThrow('true or false')
})

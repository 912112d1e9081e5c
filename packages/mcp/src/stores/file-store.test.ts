import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Schedule, ToolcribError } from '@toolcrib/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { storeContract } from '../../../core/src/store/store-contract.ts'
import { fileStore } from './file-store.ts'
import { SHARDS } from './files/sweeper.ts'

let parent = ''
let directory = ''
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'toolcrib-store-'))
  directory = join(parent, 'deep', 'store')
})
afterEach(() => rmSync(parent, { recursive: true }))

const allFiles = () =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
const valueFile = () => allFiles().find((path) => path.includes('/value.')) ?? ''

describe('fileStore', () => {
  for (const { name, run } of storeContract(openStore)) it(name, run)

  it.each([
    {},
    { directory: '' },
    { directory: 7 },
    { directory: 'x', dir: 'y' },
    { directory: 'x', clock: 1 },
  ])('refuses the options %o', (options) => {
    const open = () => fileStore(options as { directory: string })
    expect(open).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })

  it('makes nothing before the first write', async () => {
    const store = fileStore({ directory })
    expect(await store.get('a')).toBeUndefined()
    await store.delete('a')
    await store.update('a', () => undefined)
    expect(readdirSync(parent)).toEqual([])
  })

  it.skipIf(process.platform === 'win32')(
    'keeps files and folders readable for their owner alone',
    async () => {
      const store = fileStore({ directory })
      await store.set('a', 1)
      await store.set('a', 2)
      const modes = readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) => {
        const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777
        return `${entry.isFile() ? 'file' : 'folder'} ${mode.toString(8)}`
      })
      expect([...new Set(modes)].sort()).toEqual(['file 600', 'folder 700'])
      expect(statSync(directory).mode & 0o777).toBe(0o700)
    },
  )

  it.each<[string, (content: Buffer) => Buffer]>([
    ['empty', () => Buffer.alloc(0)],
    ['cut off in its header', (content) => content.subarray(0, 10)],
    ['cut off in its value', (content) => content.subarray(0, content.length - 3)],
    [
      'changed by one bit',
      (content) => Buffer.concat([content.subarray(0, -1), Buffer.of((content.at(-1) ?? 0) ^ 1)]),
    ],
    ['full of zeros', (content) => Buffer.alloc(content.length)],
    ['longer than it was', (content) => Buffer.concat([content, Buffer.from('}')])],
    ['not a header', () => Buffer.from('7\n8')],
  ])('treats a file that is %s as absent, and names it', async (_what, damage) => {
    const damaged: ToolcribError[] = []
    const store = fileStore({ directory, onDamaged: (error) => damaged.push(error) })
    await store.set('a', { text: 'some text' })
    const file = valueFile()
    writeFileSync(file, damage(readFileSync(file)))
    await store.set('other', 'fine')
    expect(await store.get('a')).toBeUndefined()
    expect(damaged).toMatchObject([{ code: 'store-unavailable', message: expect.stringContaining(file) }])
    expect(await store.get('other')).toBe('fine')
    expect(await store.update('a', (current) => (current === undefined ? 'new' : 'old'))).toBe('new')
    expect([await store.get('a'), damaged.length]).toEqual(['new', 2])
  })

  it('treats a value whose file is missing as absent, and names it', async () => {
    const damaged: ToolcribError[] = []
    const store = fileStore({ directory, onDamaged: (error) => damaged.push(error) })
    await store.set('a', 1)
    const file = valueFile()
    rmSync(file)
    expect(await store.get('a')).toBeUndefined()
    expect(damaged[0]?.message).toContain(`${file} is damaged and counts as absent: it is missing`)
    await store.set('a', 2)
    expect(await store.get('a')).toBe(2)
  })

  it('never takes the value of another key for its own', async () => {
    const onDamaged = vi.fn()
    const store = fileStore({ directory, onDamaged })
    await store.set('secret', 'of somebody else')
    const secret = readFileSync(valueFile())
    await store.delete('secret')
    await store.set('a', 1)
    writeFileSync(valueFile(), secret)
    expect(await store.get('a')).toBeUndefined()
    expect(onDamaged).toHaveBeenCalledOnce()
  })

  it('rejects with store-unavailable and the cause where it cannot write', async () => {
    writeFileSync(join(parent, 'file'), '')
    const store = fileStore({ directory: join(parent, 'file', 'store') })
    const fault = { code: 'store-unavailable', cause: { code: 'ENOTDIR' } }
    await expect(store.set('a', 1)).rejects.toMatchObject(fault)
    await expect(store.update('a', () => 1)).rejects.toMatchObject(fault)
    await expect(store.get('a')).rejects.toMatchObject(fault)
    await expect(store.set('a', 1)).rejects.toThrow(join(parent, 'file', 'store'))
  })

  it('passes on what a change throws as it is, even a system error', async () => {
    const store = fileStore({ directory })
    const fault = Object.assign(new Error('mine'), { code: 'ENOENT' })
    const failing = store.update('a', () => {
      throw fault
    })
    await expect(failing).rejects.toBe(fault)
  })

  it('clears up expired values in the background, with no read of theirs', async () => {
    const { schedule, sweepAll } = manualSchedule()
    let now = 1_000
    const store = fileStore({ directory, clock: () => now, schedule, random: () => 0.999 })
    for (let index = 0; index < 20; index++) await store.set(`brief ${index}`, index, { ttlMs: 10 })
    await store.set('lasting', 'kept')
    expect(allFiles()).toHaveLength(42)
    now = 2_000
    await sweepAll()
    expect(allFiles()).toHaveLength(2)
    expect(await store.get('lasting')).toBe('kept')
    await store.close()
  })

  it('clears up what killed processes left behind, once it is old', async () => {
    const { schedule, sweepAll } = manualSchedule()
    const store = fileStore({ directory, schedule })
    await store.set('a', 1)
    const [old, fresh] = ['old', 'fresh'].map((name) => join(directory, 'drafts', name))
    for (const path of [old ?? '', fresh ?? '']) {
      mkdirSync(path)
      writeFileSync(join(path, 'value.x'), '')
    }
    utimesSync(old ?? '', 1, 1)
    const orphan = join(valueFile(), '..', 'value.orphan')
    writeFileSync(orphan, '')
    utimesSync(orphan, 1, 1)
    await sweepAll()
    expect(readdirSync(join(directory, 'drafts'))).toEqual(['fresh'])
    expect(allFiles()).not.toContain(orphan)
    expect(await store.get('a')).toBe(1)
    await store.close()
  })

  it('sweeps no more once it is closed', async () => {
    const { schedule, pending } = manualSchedule()
    const store = fileStore({ directory, schedule })
    await store.set('a', 1)
    expect(pending()).toBe(1)
    await store.close()
    expect(pending()).toBe(0)
  })
})

function openStore() {
  let now = 1_000
  const open = () => fileStore({ directory, clock: () => now })
  return {
    store: open(),
    openAgain: open,
    passTime: (ms: number) => {
      now += ms
    },
  }
}

/** Timers that fire when the test says so. Each sweep of a part asks for the next timer when it is done. */
function manualSchedule() {
  let timer: (() => void) | undefined
  const schedule: Schedule = (_delayMs, fire) => {
    timer = fire
    return () => {
      timer = undefined
    }
  }
  const sweepAll = async () => {
    for (let shard = 0; shard < SHARDS; shard++) {
      const fire = await vi.waitUntil(() => timer, { interval: 1 })
      timer = undefined
      fire()
    }
    await vi.waitUntil(() => timer, { interval: 1 })
  }
  return { schedule, sweepAll, pending: () => (timer === undefined ? 0 : 1) }
}

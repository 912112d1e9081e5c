import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ValueFolder } from '../stores/files/value-folder.ts'
import { whileAlone } from './while-alone.ts'

describe('whileAlone', () => {
  let folder: string
  let path: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolcrib-alone-'))
    path = join(folder, 'toolcrib.lock')
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** What a process leaves behind that died while it was at work. */
  const leaveBehind = (expiresAt: number) =>
    new ValueFolder(`${path}.writing`, folder).replace(undefined, Buffer.from('dead'), expiresAt)

  it('lets only one in at a time, also when all of them find a dead one', async () => {
    for (let round = 0; round < 10; round++) {
      await leaveBehind(Date.now() - 1)
      let inside = 0
      let most = 0
      let done = 0
      const enter = () =>
        whileAlone(path, async () => {
          most = Math.max(most, ++inside)
          await new Promise((resolve) => setImmediate(resolve))
          inside--
          done++
        })
      await Promise.all(Array.from({ length: 12 }, enter))
      expect([most, done]).toEqual([1, 12])
    }
    expect(await readdir(folder)).toEqual([])
  })

  it('returns what the work returns, and leaves nothing behind when it throws', async () => {
    expect(await whileAlone(path, async () => 7)).toBe(7)
    const broken = whileAlone(path, () => Promise.reject(new Error('disk full')))
    await expect(broken).rejects.toThrow('disk full')
    expect(await readdir(folder)).toEqual([])
  })

  it('stops one that was taken for dead before it writes', async () => {
    const late = whileAlone(path, async (checkAlone) => {
      await checkAlone()
      const lease = new ValueFolder(`${path}.writing`, folder)
      await lease.replace(await lease.head(), Buffer.from('another'), Date.now() + 1_000)
      await checkAlone()
    })
    await expect(late).rejects.toThrow('another process is writing it now')
    // The other one is still at work.
    expect(await readdir(folder)).toEqual(['toolcrib.lock.writing'])
  })
})

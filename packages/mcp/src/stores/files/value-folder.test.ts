import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ValueFolder } from './value-folder.ts'

const NEVER = Number.POSITIVE_INFINITY
const HOUR = 60 * 60_000
const bytes = (text: string) => Buffer.from(text)

describe('ValueFolder', () => {
  let root = ''
  let path = ''
  let folder: ValueFolder
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'toolcrib-value-'))
    path = join(root, 'ab', 'key')
    folder = new ValueFolder(path, join(root, 'drafts'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  const current = async () => {
    const found = await folder.read()
    return found?.content && Buffer.from(found.content).toString()
  }
  const files = () => readdirSync(path).map((name) => name.split('.')[0])

  it('holds a head and a value, and nothing of those before', async () => {
    expect(await folder.replace(undefined, bytes('one'), NEVER)).toBe(true)
    expect(await folder.replace(await folder.head(), bytes('two'), 5_000)).toBe(true)
    expect([await current(), (await folder.head())?.expiresAt]).toEqual(['two', 5_000])
    expect(files()).toEqual(['head', 'value'])
    expect(readdirSync(join(root, 'drafts'))).toEqual([])
  })

  it('lets only one of several win that have seen the same value', async () => {
    const creators = await Promise.all(
      ['a', 'b', 'c'].map((text) => folder.replace(undefined, bytes(text), NEVER)),
    )
    expect(creators.filter(Boolean)).toHaveLength(1)
    const head = await folder.head()
    const writers = await Promise.all(['d', 'e', 'f'].map((text) => folder.replace(head, bytes(text), NEVER)))
    expect(writers.filter(Boolean)).toHaveLength(1)
    expect(files()).toEqual(['head', 'value'])
  })

  it('refuses a change by who has seen a value that was removed, also when the same one came again', async () => {
    await folder.replace(undefined, bytes('same'), NEVER)
    const seen = await folder.head()
    if (seen === undefined) throw new Error('no head')
    expect(await folder.remove(seen)).toBe(true)
    expect(await folder.replace(seen, bytes('late'), NEVER)).toBe(false)
    await folder.replace(undefined, bytes('same'), NEVER)
    expect(await folder.replace(seen, bytes('late'), NEVER)).toBe(false)
    expect(await folder.remove(seen)).toBe(false)
    expect(await current()).toBe('same')
  })

  it('leaves no folder behind when a value is removed', async () => {
    await folder.replace(undefined, bytes('one'), NEVER)
    const head = await folder.head()
    if (head !== undefined) await folder.remove(head)
    expect(await current()).toBeUndefined()
    expect(readdirSync(join(root, 'ab'))).toEqual([])
  })

  for (const [moment, leave] of Object.entries<() => void>({
    'before its value was complete': () => writeFileSync(join(path, `value.${randomUUID()}`), 'hal'),
    'before the head was renamed': () => writeFileSync(join(path, `value.${randomUUID()}`), 'never current'),
    'before the old value was removed': () => writeFileSync(join(path, `value.${randomUUID()}`), 'older'),
    'before its draft was moved into place': () =>
      mkdirSync(join(root, 'drafts', randomUUID()), { recursive: true }),
  })) {
    it(`reads and replaces the value after a process was killed ${moment}`, async () => {
      await folder.replace(undefined, bytes('one'), NEVER)
      leave()
      expect(await current()).toBe('one')
      expect(await folder.replace(await folder.head(), bytes('two'), NEVER)).toBe(true)
      expect(await current()).toBe('two')
    })
  }

  it('starts again where a process was killed while it removed the value', async () => {
    for (const leftovers of [[], [`value.${randomUUID()}`]]) {
      mkdirSync(path, { recursive: true })
      for (const name of leftovers) writeFileSync(join(path, name), 'removed')
      expect(await current()).toBeUndefined()
      // The first attempt may only clear up.
      while (!(await folder.replace(undefined, bytes('new'), NEVER)));
      expect([await current(), files()]).toEqual(['new', ['head', 'value']])
      rmSync(path, { recursive: true })
    }
  })

  it('tidies away what is old and not current, and keeps what may still be under way', async () => {
    await folder.replace(undefined, bytes('one'), NEVER)
    const [old, fresh] = [`value.${randomUUID()}`, `value.${randomUUID()}`]
    for (const name of [old, fresh]) writeFileSync(join(path, name), name)
    utimesSync(join(path, old), 1, 1)
    await folder.tidy(Date.now() - HOUR)
    expect(readdirSync(path)).not.toContain(old)
    expect(readFileSync(join(path, fresh), 'utf8')).toBe(fresh)
    expect(await current()).toBe('one')
  })

  it('lets no slow process make current what was tidied away', async () => {
    await folder.replace(undefined, bytes('one'), NEVER)
    const seen = await folder.head()
    writeFileSync(join(path, `value.${randomUUID()}`), 'written by a process that is stopped now')
    for (const name of readdirSync(path)) utimesSync(join(path, name), 1, 1)
    await folder.tidy(Date.now() - HOUR)
    expect((await folder.head())?.name).not.toBe(seen?.name)
    expect(await folder.replace(seen, bytes('late'), NEVER)).toBe(false)
    expect(await current()).toBe('one')
  })

  it('tells a value file that is missing from one that was replaced', async () => {
    await folder.replace(undefined, bytes('one'), NEVER)
    const head = await folder.head()
    rmSync(join(path, head?.valueFile ?? ''))
    expect(await folder.read()).toEqual({ head, content: undefined })
  })
})

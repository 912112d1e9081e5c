import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeWhole } from './write-whole.ts'

describe('writeWhole', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-whole-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const modeOf = (path: string) => statSync(path).mode & 0o777

  it('creates a file with the given mode, and replaces its content', async () => {
    const path = join(folder, 'a')
    await writeWhole(path, 'one', { mode: 0o600 })
    expect([readFileSync(path, 'utf8'), modeOf(path)]).toEqual(['one', 0o600])
    await writeWhole(path, new Uint8Array([116, 119, 111]), { mode: 0o600 })
    expect(readFileSync(path, 'utf8')).toBe('two')
    expect(readdirSync(folder)).toEqual(['a'])
  })

  it('keeps the mode of an existing file, whatever the umask', async () => {
    const path = join(folder, 'a')
    writeFileSync(path, 'one')
    chmodSync(path, 0o666)
    await writeWhole(path, 'two', { mode: 0o600 })
    expect([readFileSync(path, 'utf8'), modeOf(path)]).toEqual(['two', 0o666])
  })

  it('replaces a link and leaves what it points to', async () => {
    const [target, link] = [join(folder, 'target'), join(folder, 'link')]
    writeFileSync(target, 'mine')
    symlinkSync(target, link)
    await writeWhole(link, 'other', { mode: 0o600 })
    expect([readFileSync(target, 'utf8'), readFileSync(link, 'utf8')]).toEqual(['mine', 'other'])
    expect(modeOf(link)).toBe(0o600)
  })

  it('writes a file whose name is as long as a name can be', async () => {
    const path = join(folder, 'n'.repeat(255))
    await writeWhole(path, 'one', { mode: 0o600 })
    expect(readFileSync(path, 'utf8')).toBe('one')
  })

  it('leaves the old content and no draft when it fails', async () => {
    const path = join(folder, 'a')
    writeFileSync(path, 'one')
    await expect(writeWhole(path, null as never, { mode: 0o600 })).rejects.toThrow()
    expect(readFileSync(path, 'utf8')).toBe('one')
    expect(readdirSync(folder)).toEqual(['a'])
  })
})

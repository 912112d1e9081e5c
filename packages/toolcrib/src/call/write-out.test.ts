import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallResult, ContentBlock } from '@toolcrib/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { requireWritable, writeOut } from './write-out.ts'

describe('call --out', () => {
  let cwd = ''
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'toolcrib-out-'))
  })
  afterEach(() => rmSync(cwd, { recursive: true }))

  const write = (out: string, ...content: ContentBlock[]) => {
    const result = { ok: true, value: 'the text', content } as const
    const answer: CallResult = { toolCallId: '1', name: 'x', result, durationMs: 1 }
    return writeOut(fakeTerminal({ cwd }).terminal, answer, { out })
  }
  const image = (text: string): ContentBlock => ({
    type: 'image',
    data: Buffer.from(text).toString('base64'),
    mimeType: 'image/png',
  })

  it('writes images as bytes, several of them to numbered files, and text where there is nothing else', async () => {
    expect(await write('a.png', { type: 'text', text: 'x' }, image('one'))).toEqual([join(cwd, 'a.png')])
    expect(readFileSync(join(cwd, 'a.png'), 'utf8')).toBe('one')
    await write('b.png', image('one'), {
      type: 'resource',
      resource: { uri: 'x://y', blob: Buffer.from('two').toString('base64') },
    })
    expect(readdirSync(cwd).sort()).toEqual(['a.png', 'b-1.png', 'b-2.png'])
    expect(readFileSync(join(cwd, 'b-2.png'), 'utf8')).toBe('two')
    await write('c.txt', { type: 'text', text: 'x' })
    expect(readFileSync(join(cwd, 'c.txt'), 'utf8')).toBe('the text')
    await expect(write('no/such/folder', image('x'))).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('is checked before the call by the file, or by its folder where it does not exist', async () => {
    const check = (out: string) => requireWritable(fakeTerminal({ cwd }).terminal, { out })
    await check('new.png')
    await check('/dev/null')
    await expect(check('.')).rejects.toThrow('is a folder')
    await expect(check('nowhere/a.png')).rejects.toThrow('cannot be written')
  })
})

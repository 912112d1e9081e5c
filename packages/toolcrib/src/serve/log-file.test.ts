import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LogFile } from './log-file.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolcrib-log-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const LINE = { at: '2026-01-01T00:00:00.000Z', level: 'warn', server: 'files', message: 'one' } as const

describe('the log file', () => {
  it('has a line of JSON for each entry, for its owner alone, and is continued', async () => {
    const path = join(folder, 'logs', 'a.log')
    for (const message of ['one', 'two']) {
      const file = await LogFile.open(path)
      file.write({ ...LINE, message })
      file.close()
    }
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { ...LINE, pid: process.pid },
      { ...LINE, message: 'two', pid: process.pid },
    ])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('has what led to a warning at once, and the rest a moment later', async () => {
    const path = join(folder, 'a.log')
    const messages = () => readFileSync(path, 'utf8').match(/(?<="message":")\w+/g)
    const file = new LogFile(path)
    for (const message of ['one', 'two']) file.write({ ...LINE, level: 'info', message })
    expect(messages()).toBeNull()
    file.write({ ...LINE, message: 'three' })
    expect(messages()).toEqual(['one', 'two', 'three'])
    file.write({ ...LINE, level: 'info', message: 'four' })
    await vi.waitFor(() => expect(messages()).toContain('four'))
    file.close()
  })

  it('begins a new file when it is full, and keeps the one before', () => {
    const file = new LogFile(join(folder, 'a.log'), { maxBytes: 1_000 })
    for (let nth = 0; nth < 100; nth++) file.write({ ...LINE, message: `entry ${nth}` })
    file.close()
    expect(readdirSync(folder).sort()).toEqual(['a.log', 'a.log.1'])
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThan(2_000)
  })
})

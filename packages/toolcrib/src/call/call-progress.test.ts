import { stripVTControlCharacters } from 'node:util'
import type { McpEvent } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { callProgress } from './call-progress.ts'

/** A terminal with the test's own clock and ticks. */
function terminal({ isTTY = true, columns = 60 } = {}) {
  const written: string[] = []
  const at = { now: 0, tick: () => {} }
  const progress = callProgress('files.read', {
    stream: { isTTY, columns, write: (text) => written.push(text) },
    now: () => at.now,
    every: (_, tick) => {
      at.tick = tick
      return () => {
        at.tick = () => {}
      }
    },
  })
  return { ...progress, written, at, last: () => stripVTControlCharacters(written.at(-1) ?? '').trim() }
}

const noteOf = (progress: number, more: { total?: number; message?: string } = {}): McpEvent => ({
  type: 'call-progress',
  at: 0,
  server: 'files',
  tool: 'read',
  toolCallId: 'call-1',
  progress,
  ...more,
})

describe('the progress of a call', () => {
  it('shows the elapsed time, and what its server reports', async () => {
    const { during, note, at, last, written } = terminal()
    let finish = (_: string) => {}
    const work = during(new Promise<string>((resolve) => (finish = resolve)))
    at.tick()
    expect(last()).toMatch(/^\S files\.read {2}0 s$/)
    at.now = 2_900
    at.tick()
    expect(last()).toMatch(/^\S files\.read {2}2 s {2}Ctrl-C cancels it$/)
    note(noteOf(2, { total: 5, message: 'page\u001B[2J two' }))
    at.tick()
    expect(last()).toMatch(/^\S files\.read {2}2 s {2}2 of 5 {2}page\\u\{1b\}\[2J two$/)
    note(noteOf(7))
    at.tick()
    expect(last()).toMatch(/2 s {2}7$/)
    finish('done')
    expect(await work).toBe('done')
    expect(written.at(-1)).toBe('\r\u001B[K')
    const count = written.length
    at.tick()
    expect(written).toHaveLength(count)
  })

  it('stays on one line, however narrow', async () => {
    const { during, note, at, last } = terminal({ columns: 20 })
    const work = during(new Promise(() => {}))
    note(noteOf(1, { message: 'a very long message' }))
    at.tick()
    expect(last()).toHaveLength(19)
    expect(work).toBeInstanceOf(Promise)
  })

  it('clears its line when the call fails, and writes nothing without a terminal', async () => {
    const seen = terminal()
    const failing = seen.during(Promise.reject(new Error('no')))
    seen.at.tick()
    await expect(failing).rejects.toThrow('no')
    expect(seen.written.at(-1)).toBe('\r\u001B[K')
    const unseen = terminal({ isTTY: false })
    const work = unseen.during(Promise.resolve(1))
    unseen.at.tick()
    await work
    expect(unseen.written).toEqual([])
  })
})

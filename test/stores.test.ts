import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { fileStore } from '../packages/mcp/src/stores/file-store.ts'

const WORKER = join(inject('programs'), 'store-worker.js')

describe('a file store that several processes use', () => {
  let directory = ''
  const children: ChildProcess[] = []
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'toolcrib-stores-'))
  })
  afterEach(async () => {
    await Promise.all(children.splice(0).map(kill))
    rmSync(directory, { recursive: true })
  })

  async function start(...args: string[]): Promise<ChildProcess> {
    const child = spawn(process.execPath, [WORKER, directory, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    await new Promise((resolve) => child.stdout.once('data', resolve))
    return child
  }

  it('loses no update', async () => {
    const counting = await Promise.all(Array.from({ length: 3 }, () => start('count', '25')))
    const store = fileStore({ directory })
    for (let round = 0; round < 25; round++) await store.update('counter', (count) => Number(count ?? 0) + 1)
    await Promise.all(counting.map(ended))
    expect(await store.get('counter')).toBe(100)
    await store.close()
  })

  it('returns only complete values while writers are killed, and continues at once', async () => {
    const writers = await Promise.all(Array.from({ length: 4 }, () => start('scribble')))
    const store = fileStore({ directory, onDamaged: (error) => expect.unreachable(error.message) })
    const readWhole = async () => {
      const page = (await store.get('page')) as { length: number; text: string } | undefined
      if (page !== undefined) expect(page.text).toBe((page.text[0] ?? '').repeat(page.length))
    }
    for (const writer of writers) {
      const reads = 1 + Math.floor(Math.random() * 60)
      for (let round = 0; round < reads; round++) await readWhole()
      await kill(writer)
      await readWhole()
    }
    expect(await store.update('page', () => 'after them')).toBe('after them')
    expect(await store.get('page')).toBe('after them')
    await store.close()
  })
})

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await ended(child)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve) => child.once('exit', resolve))
}

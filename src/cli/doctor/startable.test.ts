import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { whyNotStartable } from './startable.ts'

let cwd = ''
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'toolcrib-start-'))
  await writeFile(join(cwd, 'weather'), '')
  await chmod(join(cwd, 'weather'), 0o755)
  await writeFile(join(cwd, 'notes'), '')
})
afterEach(() => rm(cwd, { recursive: true }))

describe.skipIf(process.platform === 'win32')('whether a server can start', () => {
  it.each([
    ['a command on the PATH', { command: 'weather' }],
    ['a command by its path', { command: './weather' }],
    ['a URL', { url: 'https://example.com/mcp' }],
  ])('is left to its start for %s', async (_, server) => {
    expect(await whyNotStartable(server, { env: { PATH: cwd }, cwd })).toBeUndefined()
  })

  it.each([
    ['a command that does not exist', { command: 'storm' }, /"storm" was not found/],
    ['a file that cannot be executed', { command: './notes' }, /"\.\/notes" was not found/],
    ['a folder without the command', { command: './weather', cwd: '/' }, /was not found/],
    ['an own PATH', { command: 'weather', env: { PATH: '/nowhere' } }, /was not found/],
    ['an invalid table', { command: 'weather', problem: 'TOKEN is not set' }, /^TOKEN is not set$/],
  ])('is denied for %s', async (_, server, reason) => {
    expect(await whyNotStartable(server, { env: { PATH: cwd }, cwd })).toMatch(reason)
  })
})

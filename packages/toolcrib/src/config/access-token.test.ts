import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chooseToken, isLoopback, userToken } from './access-token.ts'

const LOCAL = { host: '127.0.0.1' }

describe('the access token', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-token-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is random and hard to guess by default', async () => {
    const [one, other] = [
      await chooseToken(LOCAL, { cwd: folder, env: {} }),
      await chooseToken(LOCAL, { cwd: folder, env: {} }),
    ]
    expect(one).toMatchObject({ isNew: true, token: expect.stringMatching(/^[\w-]{43}$/) })
    expect(one?.token).not.toBe(other?.token)
  })

  it('is the one of the flag', async () => {
    const flags = { ...LOCAL, token: 'a-token-of-mine-1234' }
    expect(await chooseToken(flags, { cwd: folder, env: {} })).toEqual({
      token: 'a-token-of-mine-1234',
      isNew: false,
    })
  })

  it('must fit into a header, and be hard to guess', async () => {
    for (const token of ['', 'with a blank', 'line\nbreak', 'ümlaut', 'short'])
      await expect(chooseToken({ ...LOCAL, token }, { cwd: folder, env: {} })).rejects.toMatchObject({
        code: 'usage-invalid',
      })
  })

  it('is written to a missing file for its owner alone, and read from there the next time', async () => {
    const flags = { ...LOCAL, tokenFile: 'token' }
    const made = await chooseToken(flags, { cwd: folder, env: {} })
    expect(made?.isNew).toBe(true)
    expect(readFileSync(join(folder, 'token'), 'utf8')).toBe(`${made?.token}\n`)
    expect(statSync(join(folder, 'token')).mode & 0o777).toBe(0o600)
    expect(await chooseToken(flags, { cwd: folder, env: {} })).toEqual({
      token: made?.token,
      isNew: false,
      file: join(folder, 'token'),
    })
  })

  it('lasts in the config folder, where clients get it too', async () => {
    const env = { XDG_CONFIG_HOME: folder }
    const made = await chooseToken(LOCAL, { cwd: folder, env })
    expect(made?.isNew).toBe(true)
    expect(statSync(join(folder, 'toolcrib', 'token')).mode & 0o777).toBe(0o600)
    const { token } = await userToken(env)
    expect(token).toBe(made?.token)
    expect(await chooseToken(LOCAL, { cwd: folder, env })).toEqual({
      token,
      isNew: false,
      file: join(folder, 'toolcrib', 'token'),
    })
  })

  it('is lost with the process where the config folder cannot be written', async () => {
    writeFileSync(join(folder, 'file'), '')
    const env = { XDG_CONFIG_HOME: join(folder, 'file') }
    expect(await chooseToken(LOCAL, { cwd: folder, env })).toEqual({ isNew: true, token: expect.any(String) })
  })

  it('is not read from a file that others can read', async () => {
    writeFileSync(join(folder, 'token'), 'a-token-of-mine-1234\n')
    chmodSync(join(folder, 'token'), 0o644)
    await expect(chooseToken({ ...LOCAL, tokenFile: 'token' }, { cwd: folder, env: {} })).rejects.toThrow(
      /chmod 600/,
    )
  })

  it('can be left out on loopback addresses, and nowhere else', async () => {
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '::1', '[::1]'])
      expect(await chooseToken({ host, token: false }, { cwd: folder, env: {} })).toBeUndefined()
    for (const host of ['0.0.0.0', '::', '192.168.1.2', '127.evil.example', 'localhost.evil.example'])
      await expect(chooseToken({ host, token: false }, { cwd: folder, env: {} })).rejects.toThrow(/loopback/)
  })

  it('has one origin', async () => {
    const both = { ...LOCAL, token: 'a-token-of-mine-1234', tokenFile: 'token' }
    await expect(chooseToken(both, { cwd: folder, env: {} })).rejects.toThrow(
      /one of --token, --token-file and --no-token/,
    )
  })

  it('knows loopback addresses by their form', () => {
    expect(isLoopback('LOCALHOST')).toBe(true)
    expect(isLoopback('127.0.0.1.example.org')).toBe(false)
  })
})

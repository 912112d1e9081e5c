import { execFileSync, spawn } from 'node:child_process'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapabilityRequest } from '@toolcrib/core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FsReachOptions, fsReachBackend } from './fs-reach.ts'
import { testScope } from './testing-scope.ts'

let home: string
let root: string
let outside: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'toolcrib-fs-')))
  root = join(home, 'root')
  outside = join(home, 'outside')
  await mkdir(join(root, 'notes'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(root, 'a.txt'), 'inside')
  await writeFile(join(root, 'notes', 'b.txt'), 'deeper')
  await writeFile(join(outside, 'secret.txt'), 'secret')
})

afterEach(() => rm(home, { recursive: true, force: true }))

async function reach(
  options: FsReachOptions = { read: [root], write: [root] },
  declared: NonNullable<CapabilityRequest['fs_reach']> = { read: ['*'], write: ['*'] },
  signal = new AbortController().signal,
) {
  return fsReachBackend(options).open(declared, testScope({ signal }))
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const denied = { code: 'denied' }

function makePipe(path: string): void {
  const program = 'mkfifo'
  execFileSync(program, [path])
}

describe('reading', () => {
  it('reads files by relative and by absolute path', async () => {
    const files = await reach()
    expect(text(await files.readFile('notes/b.txt'))).toBe('deeper')
    expect(text(await files.readFile(join(root, 'a.txt')))).toBe('inside')
    expect(text(await files.readFile('notes/../a.txt'))).toBe('inside')
  })

  it('denies paths that leave the root: dots, absolute paths, NUL bytes and a sibling with the same prefix', async () => {
    const files = await reach()
    await mkdir(`${root}-twin`)
    await writeFile(`${root}-twin/x`, 'secret')
    for (const path of [
      '../outside/secret.txt',
      join(outside, 'secret.txt'),
      '/etc/passwd',
      `${root}-twin/x`,
    ])
      await expect(files.readFile(path)).rejects.toMatchObject(denied)
    await expect(files.readFile('a.txt\0.png')).rejects.toMatchObject(denied)
  })

  it('reveals nothing about what exists outside', async () => {
    const files = await reach()
    for (const path of ['../outside/secret.txt', '../outside/missing.txt', '../outside/missing/too.txt']) {
      await expect(files.readFile(path)).rejects.toMatchObject(denied)
      await expect(files.stat(path)).rejects.toMatchObject(denied)
    }
  })

  it('never reads outside, whatever the path', async () => {
    const files = await reach()
    await symlink(outside, join(root, 'door'))
    const step = fc.constantFrom('..', '.', '', 'root', 'outside', 'door', 'notes', 'secret.txt', '/', home)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 7 }), async (steps) => {
        const answer = await files.readFile(steps.join('/')).then(text, () => '')
        expect(answer).not.toBe('secret')
      }),
      { numRuns: 300 },
    )
  })

  it('follows links that stay inside and denies those that leave', async () => {
    const files = await reach()
    await symlink(join(root, 'a.txt'), join(root, 'near'))
    await symlink(join(outside, 'secret.txt'), join(root, 'far'))
    await symlink(outside, join(root, 'door'))
    await symlink('circle', join(root, 'circle'))
    expect(text(await files.readFile('near'))).toBe('inside')
    await expect(files.readFile('far')).rejects.toMatchObject(denied)
    await expect(files.readFile('door/secret.txt')).rejects.toMatchObject(denied)
    await expect(files.list('door')).rejects.toMatchObject(denied)
    await expect(files.readFile('circle')).rejects.toThrow('circle')
  })

  it('accepts a root that is itself a link', async () => {
    await symlink(root, join(home, 'alias'))
    const files = await reach({ read: [join(home, 'alias')] })
    expect(text(await files.readFile('a.txt'))).toBe('inside')
    expect(text(await files.readFile(join(home, 'alias', 'a.txt')))).toBe('inside')
  })

  it('denies devices, pipes and directories, without waiting for them', async () => {
    const files = await reach({ read: [root, '/dev'] })
    makePipe(join(root, 'pipe'))
    await expect(files.readFile('pipe')).rejects.toMatchObject(denied)
    await expect(files.readFile('/dev/zero')).rejects.toMatchObject(denied)
    await expect(files.readFile('notes')).rejects.toThrow('is a directory')
  })

  it('enforces the size limit, even if the size is not known beforehand', async () => {
    await writeFile(join(root, 'ten'), '0123456789')
    const files = await reach({ read: [root, '/proc/self'], base: root, maxReadBytes: 10 })
    expect(text(await files.readFile('ten'))).toBe('0123456789')
    await writeFile(join(root, 'ten'), '0123456789+')
    await expect(files.readFile('ten')).rejects.toThrow('more than the 10')
    if (process.platform === 'linux') {
      expect((await stat('/proc/self/status')).size).toBe(0)
      await expect(files.readFile('/proc/self/status')).rejects.toThrow('more than the 10')
    }
  })

  it('names the next step when a file does not exist', async () => {
    const files = await reach()
    await expect(files.readFile('missing.txt')).rejects.toMatchObject({
      code: 'execution_failed',
      message: '"missing.txt" does not exist; list its directory to see what does',
    })
    expect(await files.stat('missing.txt')).toBeUndefined()
  })

  it('starts nothing once the call is cancelled', async () => {
    const files = await reach(undefined, undefined, AbortSignal.abort())
    await expect(files.readFile('a.txt')).rejects.toMatchObject({ code: 'cancelled' })
    await expect(files.writeFile('new.txt', 'x')).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('listing', () => {
  it('shows entries by name with their kinds, links as links', async () => {
    await symlink(outside, join(root, 'door'))
    const files = await reach()
    expect(await files.list('.')).toEqual([
      { path: join(root, 'a.txt'), name: 'a.txt', kind: 'file', size: 6 },
      { path: join(root, 'door'), name: 'door', kind: 'link', size: expect.any(Number) },
      { path: join(root, 'notes'), name: 'notes', kind: 'directory', size: expect.any(Number) },
    ])
    expect(await files.stat('.')).toMatchObject({ path: root, kind: 'directory' })
    expect(await files.stat('notes/b.txt')).toMatchObject({ name: 'b.txt', kind: 'file', size: 6 })
  })
})

describe('writing', () => {
  it('creates missing directories and leaves nothing else behind', async () => {
    const files = await reach()
    await files.writeFile('new/deep/c.txt', 'text')
    expect(await readFile(join(root, 'new/deep/c.txt'), 'utf8')).toBe('text')
    expect(await readdir(join(root, 'new/deep'))).toEqual(['c.txt'])
  })

  it('keeps the permissions of what it replaces', async () => {
    await chmod(join(root, 'a.txt'), 0o740)
    const files = await reach()
    await files.writeFile('a.txt', 'changed')
    expect((await stat(join(root, 'a.txt'))).mode & 0o777).toBe(0o740)
  })

  it('writes through a link inside, and denies one that leaves', async () => {
    await symlink(join(root, 'notes', 'b.txt'), join(root, 'near'))
    await symlink(join(outside, 'secret.txt'), join(root, 'far'))
    await symlink(outside, join(root, 'door'))
    const files = await reach()
    await files.writeFile('near', 'changed')
    expect(await readFile(join(root, 'notes', 'b.txt'), 'utf8')).toBe('changed')
    await expect(files.writeFile('far', 'x')).rejects.toMatchObject(denied)
    await expect(files.writeFile('door/new.txt', 'x')).rejects.toMatchObject(denied)
    await expect(files.writeFile('door/deep/new.txt', 'x')).rejects.toMatchObject(denied)
    await expect(files.writeFile('../outside/new.txt', 'x')).rejects.toMatchObject(denied)
    expect(await readdir(outside)).toEqual(['secret.txt'])
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret')
  })

  it('replaces a link to nothing rather than creating what it names', async () => {
    await symlink(join(outside, 'planted'), join(root, 'dangling'))
    const files = await reach()
    await files.writeFile('dangling', 'text')
    expect(await readdir(outside)).toEqual(['secret.txt'])
    expect(await readFile(join(root, 'dangling'), 'utf8')).toBe('text')
  })

  it('leaves the other name of a hard-linked file unchanged', async () => {
    await link(join(outside, 'secret.txt'), join(root, 'twin'))
    const files = await reach()
    await files.writeFile('twin', 'changed')
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret')
  })

  it('denies directories, pipes and oversized files, and leaves no temporary file', async () => {
    makePipe(join(root, 'pipe'))
    const files = await reach({ write: [root], maxWriteBytes: 3 })
    await expect(files.writeFile('notes', 'x')).rejects.toThrow('is a directory')
    await expect(files.writeFile('pipe', 'x')).rejects.toMatchObject(denied)
    await expect(files.writeFile('long', 'four')).rejects.toThrow('more than the 3 bytes')
    expect((await readdir(root)).sort()).toEqual(['a.txt', 'notes', 'pipe'])
  })
})

describe('grants', () => {
  it('needs a grant for each direction', async () => {
    const readOnly = await reach({ read: [root] })
    await expect(readOnly.writeFile('a.txt', 'x')).rejects.toMatchObject(denied)
    const writeOnly = await reach({ write: [root] })
    await expect(writeOnly.readFile('a.txt')).rejects.toMatchObject(denied)
    const undeclared = await reach(undefined, { read: ['*'] })
    await expect(undeclared.writeFile('a.txt', 'x')).rejects.toMatchObject(denied)
  })

  it('gives a tool the intersection of what it declared and what the host granted', async () => {
    const narrower = await reach({ read: [root] }, { read: [join(root, 'notes')] })
    expect(text(await narrower.readFile('notes/b.txt'))).toBe('deeper')
    await expect(narrower.readFile('a.txt')).rejects.toMatchObject(denied)
    const wider = await reach({ read: [join(root, 'notes')] }, { read: [home] })
    await expect(wider.readFile(join(root, 'a.txt'))).rejects.toMatchObject(denied)
  })

  it('denies a tool that declared only what was not granted', async () => {
    await expect(reach({ read: [root] }, { read: [outside] })).rejects.toMatchObject(denied)
    await expect(reach({ read: [root] }, { write: ['*'] })).rejects.toMatchObject(denied)
    await expect(reach({ read: [join(root, 'missing')] }, { read: ['*'] })).rejects.toMatchObject(denied)
  })

  it('needs at least one root', () => {
    expect(() => fsReachBackend({})).toThrow('list directories')
  })
})

describe('races', () => {
  // Another process keeps swapping a directory in the root for a link to the outside during the test.
  it.runIf(process.platform === 'linux')(
    'never reads or writes outside while a directory is swapped for a link',
    async () => {
      await mkdir(join(root, 'swap'))
      await writeFile(join(root, 'swap', 'secret.txt'), 'harmless')
      await writeFile(join(outside, 'marker'), 'only outside')
      const swapper = spawn(process.execPath, ['-e', SWAP, root, outside], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await new Promise((resolve) => swapper.stdout.once('data', resolve))
      try {
        const files = await reach()
        const seen = new Set<string>()
        for (let round = 0; round < 600; round++) {
          seen.add(await files.readFile('swap/secret.txt').then(text, (error) => error.code))
          await files.writeFile('swap/secret.txt', 'harmless').catch(() => undefined)
          await files.writeFile(`swap/new/${round % 10}`, 'harmless').catch(() => undefined)
          const listed = await files.list('swap').catch(() => [])
          expect(listed.map((entry) => entry.name)).not.toContain('marker')
        }
        expect(seen).not.toContain('secret')
        expect(swapper.exitCode).toBeNull()
      } finally {
        swapper.kill('SIGKILL')
      }
      expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret')
      expect((await readdir(outside)).sort()).toEqual(['marker', 'secret.txt'])
    },
    60_000,
  )

  const SWAP = `
    const { renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs')
    const [, root, outside] = process.argv
    process.chdir(root)
    const attempt = (step) => { try { step(); return true } catch { return false } }
    process.stdout.write('ready')
    for (;;) {
      attempt(() => renameSync('swap', 'kept'))
      attempt(() => symlinkSync(outside, 'swap'))
      attempt(() => unlinkSync('swap'))
      while (!attempt(() => renameSync('kept', 'swap')))
        attempt(() => rmSync('swap', { recursive: true, force: true }))
    }`
})

describe('changing a file', () => {
  it('loses no concurrent changes, by several calls and through links', async () => {
    const backend = fsReachBackend({ read: [root], write: [root] })
    await symlink(join(root, 'a.txt'), join(root, 'link.txt'))
    await writeFile(join(root, 'a.txt'), '')
    await Promise.all(
      Array.from({ length: 20 }, async (_unused, index) => {
        const files = await backend.open({ read: ['*'], write: ['*'] }, testScope())
        await files.update(index % 2 ? 'a.txt' : 'link.txt', (data) => `${text(data)}${index};`)
      }),
    )
    const parts = (await readFile(join(root, 'a.txt'), 'utf8')).split(';').filter(Boolean)
    expect(parts.map(Number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_unused, index) => index),
    )
  })

  it('needs read and write grants, and writes nothing when nothing changes', async () => {
    const writer = await reach({ write: [root] })
    await expect(writer.update('a.txt', () => 'x')).rejects.toMatchObject(denied)
    const reader = await reach({ read: [root] })
    await expect(reader.update('a.txt', () => 'x')).rejects.toMatchObject(denied)
    const files = await reach()
    await files.update('a.txt', () => undefined)
    await expect(files.update('missing.txt', () => 'x')).rejects.toThrow('does not exist')
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('inside')
  })
})

describe('a refusal', () => {
  const refusal = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => ({ code: 'none', message: 'nothing thrown', cause: undefined }),
      (thrown: { code: string; message: string; cause: unknown }) => thrown,
    )
    return [error.code, error.message]
  }

  it('says what the host must grant', async () => {
    expect(() => fsReachBackend({ raed: [root] } as never)).toThrow('fsReachBackend() has no option "raed"')
    expect(() => fsReachBackend({})).toThrow(expect.objectContaining({ code: 'config-invalid' }))
    const nothing =
      'the host grants probe none of the paths it declares; add them to the roots of fsReachBackend'
    for (const declared of [{}, { read: [outside] }, { write: [outside] }])
      expect(await refusal(reach({ read: [root], write: [root] }, declared))).toEqual(['denied', nothing])
    const missing = (what: string) => [
      'denied',
      `probe has no directories that may be ${what}; ask the user to grant one in fsReachBackend`,
    ]
    const readOnly = await reach({ read: [root] }, { read: ['*'] })
    expect(await refusal(readOnly.writeFile('a.txt', ''))).toEqual(missing('written'))
    expect(await refusal(readOnly.update('a.txt', () => ''))).toEqual(missing('written'))
    const writeOnly = await reach({ write: [root] }, { write: ['*'] })
    for (const work of [
      () => writeOnly.readFile('a.txt'),
      () => writeOnly.update('a.txt', () => ''),
      () => writeOnly.list('.'),
      () => writeOnly.stat('a.txt'),
    ])
      expect(await refusal(work())).toEqual(missing('read'))
  })

  it('says what is wrong with a path', async () => {
    const files = await reach()
    makePipe(join(root, 'pipe'))
    expect(await refusal(files.readFile('a\0'))).toEqual(['denied', 'a path must not contain NUL bytes'])
    expect(await refusal(files.readFile('notes'))).toEqual([
      'execution_failed',
      expect.stringContaining('is a directory; name a file in it'),
    ])
    expect(await refusal(files.readFile('pipe'))).toEqual([
      'denied',
      expect.stringContaining('is a device, pipe or socket; only regular files can be read or written'),
    ])
    await expect(files.readFile('missing')).rejects.toMatchObject({ cause: { code: 'ENOENT' } })
    const broken = new Error('no such number')
    const failing = files.update('a.txt', () => {
      throw broken
    })
    await expect(failing).rejects.toMatchObject({
      code: 'execution_failed',
      message: '"a.txt": no such number',
      cause: broken,
    })
  })

  it('counts bytes, and takes as many as are allowed', async () => {
    const files = await reach({ read: [root], write: [root], maxReadBytes: 6, maxWriteBytes: 7 })
    expect(text(await files.readFile('a.txt'))).toBe('inside')
    await files.writeFile('a.txt', new Uint8Array([49, 50, 51, 52, 53, 54, 55]))
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('1234567')
    const large = (path: string, bytes: number, limit: number) => [
      'execution_failed',
      expect.stringMatching(`${path}" has ${bytes} bytes, more than the ${limit} bytes the host allows`),
    ]
    expect(await refusal(files.readFile('a.txt'))).toEqual(large('a.txt', 7, 6))
    expect(await refusal(files.writeFile('a.txt', '12345678'))).toEqual(large('a.txt', 8, 7))
  })
})

it('files are written as the process would, listed by name with their kinds, and closed', async () => {
  const files = await reach()
  const open = async () => (process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0)
  await files.list('.')
  const before = await open()
  const mask = process.umask()
  for (const name of ['z', 'm', 'b', 'k']) await files.writeFile(name, name)
  expect((await stat(join(root, 'z'))).mode & 0o777).toBe(0o666 & ~mask)
  makePipe(join(root, 'pipe'))
  await symlink('a.txt', join(root, 'link'))
  for (let round = 0; round < 20; round++) {
    expect((await files.list('.')).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'a.txt file',
      'b file',
      'k file',
      'link link',
      'm file',
      'notes directory',
      'pipe other',
      'z file',
    ])
    expect(await files.stat('notes/b.txt')).toMatchObject({ kind: 'file', size: 6 })
    expect(await files.stat('.')).toMatchObject({ kind: 'directory', path: root })
    await files.readFile('a.txt')
    await files.writeFile('m', 'm')
  }
  expect(await open()).toBeLessThan(before + 15)
})

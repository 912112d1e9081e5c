import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { OutputWindow } from './process/output-window.ts'
import { type ProcessOptions, processBackend } from './process.ts'
import { testScope } from './testing-scope.ts'

let home: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'toolcrib-process-')))
})
afterEach(() => rm(home, { recursive: true, force: true }))

async function commands(
  options: Partial<ProcessOptions> = {},
  declared = ['*'],
  signal = new AbortController().signal,
) {
  const backend = processBackend({
    commands: ['node', 'sh', 'echo', 'pwd', 'env'],
    directories: [home],
    ...options,
  })
  return backend.open(declared, testScope({ signal }))
}

const denied = { code: 'denied' }

/** Starts a child that outlives it, and writes the child's id to a file. */
const FAMILY = `
  const { spawn } = require('node:child_process')
  const child = spawn(process.execPath, ['-e', process.argv[1] + 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
  // Renamed into place, so that the file is never empty.
  require('node:fs').writeFileSync('pid', String(child.pid))
  require('node:fs').renameSync('pid', 'grandchild')`
const IGNORE_TERM = 'process.on("SIGTERM", () => {});'

async function grandchildIsThere(): Promise<void> {
  while (!existsSync(join(home, 'grandchild'))) await sleep(20)
}

async function grandchildIsGone(): Promise<boolean> {
  const pid = Number(await readFile(join(home, 'grandchild'), 'utf8'))
  for (let look = 0; look < 100; look++) {
    if (!(await isRunning(pid))) return true
    await sleep(20)
  }
  return false
}

async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
    // A zombie still has an id.
    return !/^State:\s+Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))
  } catch {
    return false
  }
}

describe('running', () => {
  it('returns stdout, stderr and exit code', async () => {
    const access = await commands()
    const script = 'console.log("out"); console.error("err"); process.exit(3)'
    expect(await access.run('node', ['-e', script])).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      isCut: false,
    })
  })

  it('passes arguments literally, without a shell', async () => {
    const access = await commands()
    const args = ['$HOME', '`id`', '; rm -rf /', '"quoted"', '*', '']
    const { stdout } = await access.run('node', [
      '-p',
      'JSON.stringify(process.argv.slice(1))',
      '--',
      ...args,
    ])
    expect(JSON.parse(stdout)).toEqual(args)
  })

  it('closes stdin unless it is given something to read', async () => {
    const access = await commands()
    const script =
      'process.stdin.on("data", (d) => console.log(String(d))).on("end", () => console.log("end"))'
    expect((await access.run('node', ['-e', script])).stdout).toBe('end\n')
    expect((await access.run('node', ['-e', script], { input: 'given' })).stdout).toBe('given\nend\n')
    expect((await access.run('echo', [], { input: 'x'.repeat(1_000_000) })).exitCode).toBe(0)
  })

  it('passes on only a small environment', async () => {
    process.env.TOOLCRIB_TEST_TOKEN = 'token-of-the-host'
    try {
      const bare = await (await commands()).run('env')
      expect(bare.stdout).not.toContain('token-of-the-host')
      const passed = await (await commands({ passEnv: ['TOOLCRIB_TEST_TOKEN'], env: { CI: '1' } })).run('env')
      expect(passed.stdout).toContain('TOOLCRIB_TEST_TOKEN=token-of-the-host')
      expect(passed.stdout).toContain('CI=1')
    } finally {
      delete process.env.TOOLCRIB_TEST_TOKEN
    }
  })

  it('reports a command that cannot be started', async () => {
    await writeFile(join(home, 'broken'), '#!/no/such/interpreter')
    await chmod(join(home, 'broken'), 0o755)
    const access = await commands({ commands: [join(home, 'broken')] })
    await expect(access.run(join(home, 'broken'))).rejects.toMatchObject({ code: 'execution_failed' })
    await expect((await commands()).run('echo', ['a\0b'])).rejects.toMatchObject({ code: 'execution_failed' })
  })
})

describe('which commands', () => {
  it('starts only what the host lists, by name or by path', async () => {
    const access = await commands({ commands: ['echo'] })
    const echo = (
      await (await commands({ commands: ['sh'] })).run('sh', ['-c', 'command -v echo; which echo'])
    ).stdout
      .trim()
      .split('\n')
      .at(-1) as string
    expect((await access.run(echo, ['by path'])).stdout).toBe('by path\n')
    await expect(access.run('sh', ['-c', 'id'])).rejects.toMatchObject(denied)
    await expect(access.run('/bin/sh', ['-c', 'id'])).rejects.toMatchObject(denied)
    await expect(access.run('echo hello')).rejects.toThrow('arguments as a list')
  })

  it('never runs a command from the working directory', async () => {
    for (const name of ['echo', 'own']) {
      await writeFile(join(home, name), '#!/bin/sh\nprintf planted')
      await chmod(join(home, name), 0o755)
    }
    const access = await commands({ commands: ['*'], path: `:.:${home.slice(1)}:${process.env.PATH}` })
    expect((await access.run('echo', ['real'])).stdout).toBe('real\n')
    for (const name of ['./echo', '../echo', 'own', './own', '..', ''])
      await expect(access.run(name)).rejects.toBeInstanceOf(Error)
  })

  it('gives a tool what it declared and the host lists, and denies it when that is nothing', async () => {
    const access = await commands({ commands: ['echo', 'pwd'] }, ['echo', 'node'])
    expect((await access.run('echo')).exitCode).toBe(0)
    await expect(access.run('pwd')).rejects.toMatchObject(denied)
    await expect(access.run('node')).rejects.toMatchObject(denied)
    await expect(commands({ commands: ['pwd'] }, ['echo'])).rejects.toMatchObject(denied)
    await expect(commands({ commands: [] }, ['*'])).rejects.toMatchObject(denied)
  })

  it('distinguishes a missing command from a denied one', async () => {
    const access = await commands({ commands: ['*'] })
    await expect(access.run('no-such-command')).rejects.toMatchObject({ code: 'not_available' })
  })
})

describe('where', () => {
  it('runs below the directories of the host, links resolved', async () => {
    await mkdir(join(home, 'sub'))
    await symlink('/usr', join(home, 'door'))
    const access = await commands()
    expect((await access.run('pwd')).stdout.trim()).toBe(home)
    expect((await access.run('pwd', [], { cwd: 'sub' })).stdout.trim()).toBe(join(home, 'sub'))
    for (const cwd of ['..', '/', 'door', 'sub/../..'])
      await expect(access.run('pwd', [], { cwd })).rejects.toMatchObject(denied)
    await expect(access.run('pwd', [], { cwd: 'missing' })).rejects.toThrow('existing one')
  })
})

describe('ending', () => {
  it('kills grandchildren on a timeout, even those that ignore SIGTERM', async () => {
    const access = await commands({ graceMs: 200 })
    const family = `${FAMILY}; setInterval(() => {}, 1000)`
    const run = access.run('node', ['-e', family, '--', IGNORE_TERM], { timeoutMs: 3_000 })
    await expect(run).rejects.toMatchObject({ code: 'timeout' })
    expect(await grandchildIsGone()).toBe(true)
  })

  it('kills grandchildren when the call is cancelled', async () => {
    const controller = new AbortController()
    const access = await commands({}, ['*'], controller.signal)
    const script = `${FAMILY}; console.log('up'); setInterval(() => {}, 1000)`
    const run = access.run('node', ['-e', script, '--', ''])
    await grandchildIsThere()
    controller.abort()
    await expect(run).rejects.toMatchObject({ code: 'cancelled' })
    expect(await grandchildIsGone()).toBe(true)
    await expect(access.run('echo')).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('kills what a command leaves behind, and does not wait for its output', async () => {
    const access = await commands()
    const outcome = await access.run('node', [
      '-e',
      `${FAMILY}; child.unref(); console.log('done')`,
      '--',
      '',
    ])
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'done\n' })
    expect(await grandchildIsGone()).toBe(true)
  })

  it('does not wait for a process that left the group and holds its output open', async () => {
    const access = await commands()
    const script = `${FAMILY.replace("stdio: 'inherit'", "stdio: 'inherit', detached: true")}; child.unref(); console.log('done')`
    const outcome = await access.run('node', ['-e', script, '--', ''])
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'done\n' })
    process.kill(Number(await readFile(join(home, 'grandchild'), 'utf8')), 'SIGKILL')
  })

  it('kills running groups when the host process exits', async () => {
    const script = `
      import { processBackend } from ${JSON.stringify(pathToFileURL(join(inject('programs'), 'capabilities.js')).href)}
      const backend = processBackend({ commands: ['node'], directories: [${JSON.stringify(home)}] })
      const access = await backend.open(['*'], { tool: 't', sessionId: 's', signal: new AbortController().signal, attachments: [] })
      access.run('node', ['-e', ${JSON.stringify(`${FAMILY}; setInterval(() => {}, 1000)`)}, '--', ''])
      const { existsSync } = await import('node:fs')
      while (!existsSync(${JSON.stringify(join(home, 'grandchild'))})) await new Promise((next) => setTimeout(next, 20))
      process.exit(0)`
    const file = join(home, 'host.mjs')
    await writeFile(file, script)
    const host = spawn(process.execPath, [file], { stdio: 'inherit' })
    expect(await new Promise((resolve) => host.once('exit', resolve))).toBe(0)
    expect(await grandchildIsGone()).toBe(true)
  })

  it('returns the output so far when a command times out', async () => {
    const access = await commands()
    const run = access.run('sh', ['-c', 'echo halfway; sleep 30'], { timeoutMs: 1_000 })
    await expect(run).rejects.toThrow('halfway')
  })

  it('stops a command that floods its output', async () => {
    const access = await commands({ commands: ['yes'], maxOutputBytes: 4_000 })
    const outcome = await access.run('yes')
    expect(outcome).toMatchObject({ exitCode: null, signal: 'SIGTERM', isCut: true })
    expect(outcome.stdout.length).toBeLessThan(4_100)
  })
})

describe('OutputWindow', () => {
  const fill = (text: string, maxBytes: number, chunk: number) => {
    const window = new OutputWindow(maxBytes)
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += chunk) window.push(bytes.subarray(at, at + chunk))
    return window
  }

  it('keeps the beginning and the end, however the bytes arrive', () => {
    for (const chunk of [1, 2, 3, 7, 100])
      expect(fill('0123456789abcdefghij', 10, chunk).text()).toBe('01234\n[10 bytes dropped]\nfghij')
  })

  it('leaves text within the limit as it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 50 }),
        fc.integer({ min: 1, max: 9 }),
        (text, chunk) => {
          expect(fill(text, 1_000, chunk).text()).toBe(Buffer.from(text).toString())
        },
      ),
    )
  })

  it('splits no character', () => {
    expect(fill('ää€€€€ää', 9, 1).text()).not.toContain('\uFFFD')
  })
})

it('rejects limits beyond the range of a timer', () => {
  for (const options of [{ timeoutMs: Number.POSITIVE_INFINITY }, { maxOutputBytes: 0 }, { graceMs: -1 }]) {
    expect(() => processBackend({ commands: ['*'], ...options })).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  }
})

it('reports that a command was stopped for flooding', async () => {
  const { run } = await commands({ maxOutputBytes: 1_000 })
  const outcome = await run('node', ['-e', "for (;;) console.log('x'.repeat(1000))"])
  expect(outcome).toMatchObject({ isFlooded: true, isCut: true })
})

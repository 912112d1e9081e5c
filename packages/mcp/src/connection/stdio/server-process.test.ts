import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeExit, ServerOutput } from './server-output.ts'
import { ServerProcess } from './server-process.ts'

describe.skipIf(process.platform === 'win32')('ServerProcess', () => {
  it('reports that the folder is missing, not the shell', async () => {
    const cwd = join(tmpdir(), 'toolcrib-no-such-folder')
    await expect(ServerProcess.start({ command: 'true', args: [], env: {}, cwd })).rejects.toThrow(
      `its folder "${cwd}" does not exist`,
    )
  })

  it('rejects a file as a folder', async () => {
    const cwd = import.meta.filename
    await expect(ServerProcess.start({ command: 'true', args: [], env: {}, cwd })).rejects.toThrow(
      `its folder "${cwd}" does not exist`,
    )
  })

  it.each([
    ['a missing command', ['no-such-program'], /^command "no-such-program" not found; install it/],
    ['a missing path', ['/no/such program'], /^command "\/no\/such program" not found; install it/],
    ['a file that is no program', ['/etc/passwd'], /^command "\/etc\/passwd" cannot be executed/],
    [
      'a wrapper of a missing program',
      ['sh', '-c', 'exec no-such-program'],
      /^"sh" could not find a program it was to run: sh: .*no-such-program: not found; install that program/,
    ],
    ['a wrapper of a file that is no program', ['sh', '-c', '/etc/passwd'], /^it exited with code 126; last/],
  ])('tells who was not found: %s', async (_, [command = '', ...args], said) => {
    const started = await ServerProcess.start({ command, args, env: { PATH: process.env.PATH ?? '' } })
    expect(describeExit(await started.ended, command, started.lastWords)).toMatch(said)
  })
})

describe.skipIf(process.platform === 'win32')('a launcher that ignores SIGTERM', () => {
  const start = async (isLauncher: boolean) => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
    const env = { PATH: process.env.PATH ?? '' }
    const server = { command: 'sh', args: ['-c', script], env, isLauncher, installGraceMs: 1_500 }
    const started = await ServerProcess.start(server)
    await new Promise((resolve) => started.stdout.once('data', resolve))
    return started
  }

  it('is killed at last, which stop() reports', async () => {
    const launcher = await start(true)
    expect(launcher.isInstalling).toBe(true)
    expect(await launcher.stop()).toBe(true)
    expect(await launcher.ended).toEqual({ code: null, signal: 'SIGKILL' })
  })

  it('is killed like any other server once it has installed', async () => {
    const launcher = await start(true)
    launcher.isInstalling = false
    expect(await launcher.stop()).toBe(false)
    expect(await (await start(false)).stop()).toBe(false)
  })
})

const exited = { code: 1, signal: null }

describe('describeExit', () => {
  it("reports npm's reason, not the path of its log", () => {
    const words = [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.npmjs.org/nowhere - Not found',
      'npm error 404',
      "npm error 404  'nowhere@*' is not in this registry.",
      'npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log',
    ].join('\n')
    expect(describeExit(exited, 'npx', words)).toBe(
      'it exited with code 1; last output: npm error 404 Not Found - GET https://registry.npmjs.org/nowhere - Not found',
    )
  })

  it('reports the error above a stack trace', () => {
    const words = [
      "Error: Cannot find module './server.js'",
      '    at Function.throwError (node:internal/modules/loader:1:1)',
      '',
      'Node.js v22.0.0',
    ].join('\n')
    expect(describeExit(exited, 'node', words)).toContain(
      "last output: Error: Cannot find module './server.js'",
    )
  })

  it('reports the last line when no line mentions an error', () => {
    expect(describeExit(exited, 'x', 'starting\nAPI_KEY is not set\n\n')).toBe(
      'it exited with code 1; last output: API_KEY is not set',
    )
    expect(describeExit({ code: null, signal: 'SIGKILL' }, 'x', '')).toBe('it was killed by SIGKILL')
  })
})

describe('the exit code 127', () => {
  const notFound = (words: string) => describeExit({ code: 127, signal: null }, 'npx', words)

  it('is reported with the line that names the program, and not as a missing command', () => {
    expect(notFound('npm warn old\nsh: 1: mcp-server-memory: not found\nbye\n')).toBe(
      '"npx" could not find a program it was to run: sh: 1: mcp-server-memory: not found; ' +
        "install that program, or correct the server's args",
    )
  })

  it('is reported without a name when nothing was said, and with what was said instead', () => {
    expect(notFound('')).toMatch(/^"npx" could not find a program it was to run \(exit code 127\); install/)
    expect(notFound('Error: boom')).toBe('it exited with code 127; last output: Error: boom')
  })
})

describe('what a server writes to stderr', () => {
  const collect = () => {
    let now = 0
    const lines: string[] = []
    const output = new ServerOutput(
      (line) => lines.push(line),
      () => now,
    )
    return {
      lines,
      last: () => output.last,
      push: (text: string | Buffer) => output.push(Buffer.from(text)),
      pass: (ms: number) => (now += ms),
    }
  }

  it('is reported line by line, across chunks and characters', () => {
    const { lines, push } = collect()
    push('one\ntw')
    push(Buffer.from('é\r\n\n  \nthree').subarray(0, 1))
    push(Buffer.from('é\r\n\n  \nthree').subarray(1))
    push('\n')
    expect(lines).toEqual(['one', 'twé', 'three'])
  })

  it('is cut where a line does not end, and counted where lines do not', () => {
    const { lines, push, pass } = collect()
    for (let nth = 0; nth < 100; nth++) push('x'.repeat(100_000))
    push('\n')
    expect(lines).toEqual([`${'x'.repeat(2_000)}…`])
    push('y\n'.repeat(1_000))
    expect(lines).toHaveLength(50)
    pass(1_000)
    push('z\n')
    expect(lines.slice(50)).toEqual(['(951 more lines)', 'z'])
  })

  it('is kept at its end, to say why the server ended', () => {
    const { last, push } = collect()
    push('x'.repeat(100_000))
    push('\nError: no key\n')
    expect(last()).toHaveLength(8_192)
    expect(last()).toMatch(/^x+\nError: no key\n$/)
  })
})

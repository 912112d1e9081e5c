import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeExit, ServerOutput, ServerProcess } from './server-process.ts'

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

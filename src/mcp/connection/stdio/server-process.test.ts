import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeExit, ServerProcess } from './server-process.ts'

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

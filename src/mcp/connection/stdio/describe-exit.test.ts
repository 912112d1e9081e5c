import { describe, expect, it } from 'vitest'
import { describeExit } from './describe-exit.ts'

const exited = { code: 1, signal: null }

describe('describeExit', () => {
  it('repeats the reason of npm, not where its log is', () => {
    const words = [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.npmjs.org/nowhere - Not found',
      'npm error 404',
      "npm error 404  'nowhere@*' is not in this registry.",
      'npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log',
    ].join('\n')
    expect(describeExit(exited, 'npx', words)).toBe(
      'it exited with code 1; it said: npm error 404 Not Found - GET https://registry.npmjs.org/nowhere - Not found',
    )
  })

  it('repeats the error above a stack', () => {
    const words = [
      "Error: Cannot find module './server.js'",
      '    at Function.throwError (node:internal/modules/loader:1:1)',
      '',
      'Node.js v22.0.0',
    ].join('\n')
    expect(describeExit(exited, 'node', words)).toContain("it said: Error: Cannot find module './server.js'")
  })

  it('repeats the last line where none speaks of an error', () => {
    expect(describeExit(exited, 'x', 'starting\nAPI_KEY is not set\n\n')).toBe(
      'it exited with code 1; it said: API_KEY is not set',
    )
    expect(describeExit({ code: null, signal: 'SIGKILL' }, 'x', '')).toBe('it was ended by SIGKILL')
  })
})

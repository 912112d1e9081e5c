import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { RAIN, useCommandLine } from './cli-folder.ts'

const { path, toolcrib, toolcribWith, list, configure, server, wasStarted, forgetStart } = useCommandLine()

beforeEach(() => {
  list(RAIN)
  configure({ weather: server() })
})

describe('a server with variables in its config', () => {
  it('is what was approved, whatever they stand for', () => {
    const { command, args } = server()
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    configure({ weather: { command, args: [args[0], '${TOOLS_FILE}'], env: { TOKEN: '${TOKEN}' } } })
    const variables = { TOOLS_FILE: path('tools.json'), TOKEN: 'abc' }
    expect(toolcribWith(variables, 'lock').status).toBe(0)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    expect(readFileSync(path('toolcrib.lock'), 'utf8')).toContain('"${TOOLS_FILE}"')
    for (const again of [variables, { ...variables, TOKEN: 'rotated' }]) {
      expect(toolcribWith(again, 'diff')).toMatchObject({ status: 0, stderr: '' })
      expect(toolcribWith(again, 'list', '--refresh', '--json')).toMatchObject({ status: 0, stderr: '' })
      expect(toolcribWith(again, 'call', 'get_rain', '{"city":"Oslo"}')).toMatchObject({ status: 0 })
    }
  })
})

describe('lock', () => {
  it('writes what stayed the same as it was, digests and all', () => {
    configure({ weather: { ...server(), env: { TOKEN: 'a-literal-token' } } })
    toolcrib('lock')
    const before = readFileSync(path('toolcrib.lock'), 'utf8')
    expect(before).toContain('(secret ')
    toolcrib('lock')
    expect(readFileSync(path('toolcrib.lock'), 'utf8')).toBe(before)
  })
})

describe('approve', () => {
  it('starts no server whose name is only the beginning of the one that is meant', () => {
    const other = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }
    toolcrib('lock')
    forgetStart()
    configure({ a: server('--quiet'), a__b: other })
    expect(toolcrib('approve', 'mcp__a__b__sun', '--timeout', '300').status).toBe(1)
    expect(wasStarted()).toBe(false)
  })
})

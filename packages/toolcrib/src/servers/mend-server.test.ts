import { readConfig } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { describeFailed, mendServer } from './mend-server.ts'

const NOW = 'then try it at once with "toolcrib doctor"'

describe('what to do about a failed server', () => {
  it.each([
    [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
      'TAVILY_KEY has no value; set it, or write ${TAVILY_KEY:-default}',
      'TAVILY_KEY has no value',
      'set TAVILY_KEY',
    ],
    [
      'command "/opt/uvx" not found; install it, or add it to the PATH',
      'command "/opt/uvx" not found',
      'install uvx, or correct its command',
    ],
    [
      'it did not connect within 30000 ms; check what it is waiting for, or increase connect_timeout_ms',
      'it hangs: no answer within 30 s',
      "run it by hand to see what it waits for: npx -y 'a b'; if it only starts slowly, increase connect_timeout_ms",
    ],
    [
      'it did not connect within 400 ms; check what it is waiting for, or increase connect_timeout_ms',
      'no answer within 400 ms',
      "run it by hand to see what it waits for: npx -y 'a b'; if it only starts slowly, increase connect_timeout_ms",
    ],
    [
      'it exited with code 1; last output: Error: boom',
      'it exited with code 1; last output: Error: boom',
      "run it by hand to see why: npx -y 'a b'",
    ],
    [
      "it exited with code 1; last output: Error: Cannot find module 'pg-native'",
      "it exited with code 1; last output: Error: Cannot find module 'pg-native'",
      'install pg-native where the server runs',
    ],
    [
      'its folder "x" does not exist; create it, or change "cwd"',
      'its folder "x" does not exist',
      'create it, or change "cwd"',
    ],
    [
      'it had not connected after 31 s, when it was closed (failed 5 times, last 78 s ago, so it was not started again; next attempt in 82 s, or now with "toolcrib doctor")',
      'it hangs: no answer within 31 s',
      `run it by hand to see what it waits for: npx -y 'a b'; if it only starts slowly, increase connect_timeout_ms; ${NOW}`,
    ],
    [
      'no answer within 3 s; check what it is waiting for (failed 9 s ago, so it was not started again; next attempt in 20 s, or now with "toolcrib doctor")',
      'no answer within 3 s',
      `check what it is waiting for; ${NOW}`,
    ],
    [
      'it had not connected after 5 s, when it was closed',
      'no answer within 5 s',
      "run it by hand to see what it waits for: npx -y 'a b'; if it only starts slowly, increase connect_timeout_ms",
    ],
    [
      'server "a" is disconnected: no response from http://h/mcp; check its url; it failed too often, next attempt in 29 s',
      'no response from http://h/mcp',
      'check its url',
    ],
  ])('%s', (reason, fault, step) => {
    expect(mendServer('a', reason, { command: 'npx', args: ['-y', 'a b'] })).toEqual({
      fault,
      step,
      ...(fault.startsWith('it hangs') ? { isHanging: true } : {}),
    })
  })

  it.each([
    ['Error: TAVILY_KEY environment variable is required', ['TAVILY_KEY']],
    [
      'Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables',
      ['SLACK_BOT_TOKEN', 'SLACK_TEAM_ID'],
    ],
    ['ValueError: API_KEY not set; see the docs', ['API_KEY']],
    ['Missing required environment variable: GIVEN_KEY', undefined],
    ["Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x', which is required", undefined],
    ['listening on LOG_LEVEL debug', undefined],
  ])('names the variables that a server asks for: %s', (output, wants) => {
    const config = { command: 'npx', env: { GIVEN_KEY: 'wrong' } }
    const { step, wants: wanted } = mendServer('a', `it exited with code 1; last output: ${output}`, config)
    expect(wanted).toEqual(wants)
    if (wants === undefined) expect(step).toBe('run it by hand to see why: npx')
    else {
      expect(step).toContain(`set ${wants.join(' and ')}, and pass it on with env = { ${wants[0]} = "\${`)
    }
  })

  it('shows the command as it is written, without its secrets', () => {
    const token = `ghp_${'16C7e42F292c6912E7710c838347Ae178B4a'}`
    const { servers } = readConfig(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
      { servers: { a: { command: 'npx', args: ['--token', token, '--key', '${KEY}', 'a b'] } } },
      { env: { KEY: 'hunter2-hunter2' } },
    )
    const { step } = mendServer('a', 'it exited with code 1', servers.a)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written
    expect(step).toBe("run it by hand to see why: npx --token ••• --key '${KEY}' 'a b'")
  })
})

it('says why a server failed, without an attempt that a command does not live to see', () => {
  const why = 'no such thing (failed 9 s ago, so it was not started again'
  expect(describeFailed('no such thing')).toBe('failed: no such thing')
  expect(describeFailed(`${why}; next attempt in 30 s, or now with "toolcrib doctor")`)).toBe(
    `failed: ${why}; try it now with "toolcrib doctor")`,
  )
})

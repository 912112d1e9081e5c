import { describe, expect, it } from 'vitest'
import { mendServer } from './mend-server.ts'

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
      "run it by hand to see what it waits for: npx -y 'a b'",
    ],
    [
      'it exited with code 1; last output: Error: boom',
      'it exited with code 1; last output: Error: boom',
      "run it by hand to see why: npx -y 'a b'",
    ],
    [
      'its folder "x" does not exist; create it, or change "cwd"',
      'its folder "x" does not exist',
      'create it, or change "cwd"',
    ],
  ])('%s', (reason, fault, step) => {
    expect(mendServer('a', reason, { command: 'npx', args: ['-y', 'a b'] })).toEqual({ fault, step })
  })
})

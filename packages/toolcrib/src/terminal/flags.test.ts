import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { withServerFlags } from './flags.ts'

describe('--timeout', () => {
  const read = (text: string) => {
    const command = withServerFlags(new Command())
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    return command.parse(['--timeout', text], { from: 'user' }).opts().timeout
  }

  it('accepts milliseconds up to the limit of a timer', () => {
    expect(read('1500')).toBe(1500)
    expect(read('2147483647')).toBe(2 ** 31 - 1)
  })

  it.each(['0', '-1', 'soon', '', 'NaN', 'Infinity', '2147483648', '99999999999'])('refuses %j', (text) => {
    expect(() => read(text)).toThrow('greater than 0 and at most 2147483647')
  })
})

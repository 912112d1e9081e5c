import { ToolRegistry } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { checkGatewayOptions } from './check-gateway-options.ts'
import type { GatewayOptions } from './gateway-options.ts'

/** Checks options beside those that a gateway needs. */
function check(options: object): void {
  const servers = { request: () => {}, status: () => {}, attach: () => {} }
  checkGatewayOptions({ registry: new ToolRegistry(), servers, ...options } as unknown as GatewayOptions)
}

describe('the options of a gateway', () => {
  it.each<[string, object, string]>([
    [
      'a misspelt guard',
      { denny: ['exec'] },
      'the profile "work" has no option "denny"; did you mean "deny"?',
    ],
    [
      'a text for a list',
      { deny: 'exec' },
      'the profile "work": deny is "exec"; it must be an array of strings',
    ],
    ['an unknown mode', { mode: 'eager' }, 'the profile "work": mode is "eager"'],
    ['an unknown way to activate', { activate: 'lists' }, 'the profile "work": activate is "lists"'],
    ['a list of something else', { servers: [7] }, 'the profile "work": servers is an array'],
    ['a list for a profile', ['exec'], 'the profile "work" takes its options as an object'],
  ])('refuse a profile with %s', (_, work, message) => {
    expect(() => check({ profiles: { open: {}, work } })).toThrow(message)
  })

  it('refuse a profile without a value: it would permit everything', () => {
    expect(() => check({ profiles: { work: undefined } })).toThrow('the profile "work"')
  })

  it('accept every setting of a profile', () => {
    const work = { servers: ['a'], allow: ['*'], deny: ['x'], pinned: [], mode: 'lazy', activate: 'list' }
    expect(() => check({ profiles: { work } })).not.toThrow()
  })

  it.each(['https://x', 'x:443', 'x/mcp', 'me@x', '::1', '[::1]:443', 'a b', ''])(
    'refuse the host "%s", which no request would match',
    (host) => {
      expect(() => check({ hosts: ['localhost', host] })).toThrow(`hosts: "${host}" is not a bare host name`)
    },
  )

  it('accept names and addresses as hosts', () => {
    expect(() => check({ hosts: ['Tools.example.com', 'my_service', '10.0.0.1', '[::1]'] })).not.toThrow()
  })

  it('refuse announcements that cannot announce', () => {
    expect(() => check({ announcements: {} })).toThrow('an object with publish(), subscribe(), close()')
  })
})

import type { NetworkInterfaceInfo } from 'node:os'
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { Interrupted } from '../terminal/interrupt.ts'
import { Linger, shownOrigins, warningsOf } from './serve-settings.ts'

describe('the origins that a gateway shows', () => {
  const lan: NetworkInterfaceInfo = {
    address: '192.0.2.7',
    netmask: '255.255.255.0',
    family: 'IPv4',
    mac: '00:00:00:00:00:01',
    internal: false,
    cidr: '192.0.2.7/24',
  }
  const lo = { ...lan, address: '127.0.0.1', internal: true }

  it('are those that clients can use, where it listens on every address', () => {
    expect(shownOrigins('http://0.0.0.0:7117', { lo: [lo], eth0: [lan] })).toEqual({
      elsewhere: 'http://192.0.2.7:7117',
      here: 'http://127.0.0.1:7117',
    })
    expect(shownOrigins('http://[::]:7117', { lo: [lo] })).toEqual({
      elsewhere: `http://${hostname()}:7117`,
      here: 'http://[::1]:7117',
    })
  })

  it('are its own in other cases', () => {
    const origin = 'http://192.0.2.9:7117'
    expect(shownOrigins(origin, { eth0: [lan] })).toEqual({ elsewhere: origin, here: origin })
  })
})

describe('the time that a gateway serves after a signal to stop', () => {
  const replica = { hasReplicas: true }
  const alone = { hasReplicas: false }
  const sigterm = new Interrupted('SIGTERM', 143)
  const sigint = new Interrupted('SIGINT', 130)

  it('is some seconds for one of several replicas, and none for the only one', () => {
    const linger = new Linger({}, { isInteractive: true })
    expect(linger.msFor(sigterm, replica)).toBe(3_000)
    expect(linger.msFor(undefined, replica)).toBe(3_000)
    expect(linger.msFor(sigterm, alone)).toBe(0)
  })

  it('is that of the flag, if there is one', () => {
    const linger = new Linger({ linger: 0.5 }, { isInteractive: false })
    expect([linger.msFor(sigterm, replica), linger.msFor(sigterm, alone)]).toEqual([500, 500])
    expect(linger.msFor(sigint, replica)).toBe(500)
    expect(new Linger({ linger: 0 }, { isInteractive: false }).msFor(sigterm, replica)).toBe(0)
  })

  it('is none for somebody who presses Ctrl-C', () => {
    expect(new Linger({ linger: 9 }, { isInteractive: true }).msFor(sigint, replica)).toBe(0)
  })
})

describe('a setting of [tools] that a gateway does not use', () => {
  it('is reported, and no other', () => {
    const config = { servers: {}, files: [] }
    expect(warningsOf({ ...config, tools: { toolThreshold: 9, resultBudgetChars: 100 } })).toEqual([
      'result_budget_chars of [tools] has no effect in "toolcrib serve": max_result_tokens of [gateway], a profile or a server is the limit',
    ])
    expect(warningsOf({ ...config, tools: { maxActive: 9 } })).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { GatewayLines } from './gateway-lines.ts'
import { LogBook } from './log-book.ts'

function opened() {
  const logs = new LogBook()
  const clock = { now: 0 }
  return { logs, clock, lines: new GatewayLines(logs, () => clock.now) }
}

describe('the lines of a gateway', () => {
  it('name sessions, warnings and refused requests', () => {
    const { logs, lines } = opened()
    lines.info({ token: 'ada', profile: 'work' }, 'session opened')
    lines.warn({}, 'the store failed')
    lines.info({ method: 'POST', route: '/mcp', status: 200, ms: 3 }, 'request')
    lines.info({ method: 'POST', route: '/mcp', status: 401, ms: 1 }, 'request')
    const at = '1970-01-01T00:00:00.000Z'
    expect(logs.lines()).toEqual([
      { at, level: 'info', message: 'session opened: token ada, profile work' },
      { at, level: 'warn', message: 'the store failed' },
      { at, level: 'warn', message: 'request POST /mcp: 401, 1 ms' },
    ])
  })

  it('are few however often a stranger knocks, and go on in the next minute', () => {
    const { logs, lines, clock } = opened()
    const knock = () => lines.info({ method: 'GET', route: '/mcp', status: 403, ms: 0 }, 'request')
    for (let nth = 0; nth < 10_000; nth++) knock()
    expect(logs.lines()).toHaveLength(60)
    expect(logs.lines().at(-1)?.message).toContain('further ones in this minute are not logged')
    clock.now = 60_000
    knock()
    expect(logs.lines()).toHaveLength(61)
  })
})

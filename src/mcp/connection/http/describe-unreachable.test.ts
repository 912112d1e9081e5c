import { describe, expect, it } from 'vitest'
import { describeUnreachable } from './describe-unreachable.ts'

const url = new URL('http://localhost:9/mcp?key=secret')

function failure(code: string): Error {
  const refused = Object.assign(new Error('connect failed'), { code })
  const fetchFailed = new TypeError('fetch failed', { cause: refused })
  return new Error('Version negotiation probe failed: fetch failed', { cause: fetchFailed })
}

describe('describeUnreachable', () => {
  it('names the address, the cause and the next step, and no key', () => {
    expect(describeUnreachable(url, failure('ECONNREFUSED'))).toBe(
      'nothing answers at http://localhost:9/mcp (ECONNREFUSED); start the server, or mend its url',
    )
    expect(describeUnreachable(url, failure('ENOTFOUND'))).toContain('no such host')
    expect(describeUnreachable(url, failure('ETIMEDOUT'))).toContain('check its url')
  })

  it('repeats a cause that has no code', () => {
    const error = new TypeError('fetch failed', { cause: new Error('bad port') })
    expect(describeUnreachable(url, error)).toContain('(bad port)')
    expect(describeUnreachable(url, new TypeError('fetch failed'))).toContain('(fetch failed)')
  })

  it('says nothing of failures that are not of the network', () => {
    expect(describeUnreachable(url, new Error('it answered with 500'))).toBeUndefined()
    expect(describeUnreachable(url, 'fetch failed')).toBeUndefined()
  })

  it('ends where causes go in a circle', () => {
    const circle = new Error('round')
    circle.cause = circle
    expect(describeUnreachable(url, circle)).toBeUndefined()
  })
})

import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { describeHttpError, describeHttpRefusal, describeUnreachable } from './describe-http-error.ts'

function failure(status: number, text: string, message = `Error POSTing to endpoint: ${text}`): SdkHttpError {
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, message, { status, text })
}

describe('describeHttpError', () => {
  it('reports the status and the first line of the body, shortened', () => {
    expect(describeHttpError(failure(500, 'out of order\nat line 3'))).toBe(
      'it responded with HTTP 500: out of order',
    )
    expect(describeHttpError(failure(500, ''))).toBe('it responded with HTTP 500')
    expect(describeHttpError(failure(500, 'x'.repeat(9_000))).length).toBeLessThan(300)
  })

  it('leaves out HTML pages', () => {
    expect(describeHttpError(failure(502, '<!doctype html><p>Bad gateway'))).toBe(
      'it responded with HTTP 502',
    )
  })

  it('names the redirect that was not followed', () => {
    const message =
      "Error POSTing to endpoint: Redirect to http://b.example/x not followed; use that URL (redirectPolicy: 'same-origin')"
    expect(describeHttpError(failure(307, '', message))).toBe(
      'Redirect to http://b.example/x not followed; use that URL',
    )
  })

  it('names the next step where there is one', () => {
    expect(describeHttpRefusal(failure(401, 'no token'))).toBe(
      'it requires authorization; set an Authorization header, or pass oauth (it responded with HTTP 401: no token)',
    )
    expect(describeHttpRefusal(failure(418, ''))).toBe('it responded with HTTP 418')
  })
})
const url = new URL('http://localhost:9/mcp?key=secret')

function unreachable(code: string): Error {
  const refused = Object.assign(new Error('connect failed'), { code })
  const fetchFailed = new TypeError('fetch failed', { cause: refused })
  return new Error('Version negotiation probe failed: fetch failed', { cause: fetchFailed })
}

describe('describeUnreachable', () => {
  it('names the address, the cause and the next step, and no key', () => {
    expect(describeUnreachable(url, unreachable('ECONNREFUSED'))).toBe(
      'no response from http://localhost:9/mcp (ECONNREFUSED); start the server, or check its url',
    )
    expect(describeUnreachable(url, unreachable('ENOTFOUND'))).toContain('the host does not exist')
    expect(describeUnreachable(url, unreachable('ETIMEDOUT'))).toContain('check its url')
  })

  it('reports a cause without a code', () => {
    const error = new TypeError('fetch failed', { cause: new Error('bad port') })
    expect(describeUnreachable(url, error)).toContain('(bad port)')
    expect(describeUnreachable(url, new TypeError('fetch failed'))).toContain('(fetch failed)')
  })

  it('ignores errors that are not network errors', () => {
    expect(describeUnreachable(url, new Error('it responded with 500'))).toBeUndefined()
    expect(describeUnreachable(url, 'fetch failed')).toBeUndefined()
  })

  it('terminates on circular causes', () => {
    const circle = new Error('round')
    circle.cause = circle
    expect(describeUnreachable(url, circle)).toBeUndefined()
  })
})

import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { describeHttpError, describeHttpRefusal } from './describe-http-error.ts'

function failure(status: number, text: string, message = `Error POSTing to endpoint: ${text}`): SdkHttpError {
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, message, { status, text })
}

describe('describeHttpError', () => {
  it('tells the status and the first line of what was said, at a bearable length', () => {
    expect(describeHttpError(failure(500, 'out of order\nat line 3'))).toBe(
      'it answered with HTTP 500: out of order',
    )
    expect(describeHttpError(failure(500, ''))).toBe('it answered with HTTP 500')
    expect(describeHttpError(failure(500, 'x'.repeat(9_000))).length).toBeLessThan(300)
  })

  it('leaves out pages', () => {
    expect(describeHttpError(failure(502, '<!doctype html><p>Bad gateway'))).toBe('it answered with HTTP 502')
  })

  it('says where it was sent and did not go', () => {
    const message =
      "Error POSTing to endpoint: Redirect to http://b.example/x not followed; use that URL (redirectPolicy: 'same-origin')"
    expect(describeHttpError(failure(307, '', message))).toBe(
      'Redirect to http://b.example/x not followed; use that URL',
    )
  })

  it('names the next step where there is one', () => {
    expect(describeHttpRefusal(failure(401, 'no token'))).toBe(
      'it asks for authorization; set an Authorization header, or pass oauth (it answered with HTTP 401: no token)',
    )
    expect(describeHttpRefusal(failure(418, ''))).toBe('it answered with HTTP 418')
  })
})

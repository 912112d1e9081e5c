import { describe, expect, it } from 'vitest'
import { keyCookie, sealToken, withToken } from './sealed-token.ts'

const TOKEN = 'a-token-of-the-gateway'
const ADDRESS = 'http://127.0.0.1:7117/api/tools'

/** The `Authorization` header that a request is checked with. */
function checked(headers: Record<string, string>): string | null {
  const request = new Request(ADDRESS, { headers: { host: '127.0.0.1:7117', ...headers } })
  return withToken(request).headers.get('authorization')
}

describe('a sealed token', () => {
  const { sealed, key } = sealToken(TOKEN)
  const authorization = `Sealed ${sealed}`
  const cookie = `toolcrib-7117=${key}`

  it('is the token again with the key of the cookie', () => {
    expect(checked({ authorization, cookie })).toBe(`Bearer ${TOKEN}`)
    expect(checked({ authorization, cookie: `theme=dark; ${cookie}; a=b` })).toBe(`Bearer ${TOKEN}`)
  })

  it('contains neither the token nor the key, and no two are alike', () => {
    const bytes = Buffer.from(sealed, 'base64url').toString('latin1')
    expect(bytes).not.toContain(TOKEN.slice(0, 4))
    const other = sealToken(TOKEN)
    expect(other.sealed).not.toBe(sealed)
    expect(other.key).not.toBe(key)
  })

  it.each([
    ['without the cookie', {}],
    ['with the key of another sign-in', { cookie: `toolcrib-7117=${sealToken(TOKEN).key}` }],
    ['with the cookie of a gateway on another port', { cookie: `toolcrib-7118=${key}` }],
    ['with a key that is too short', { cookie: 'toolcrib-7117=AAAA' }],
    ['when another page of this host sent it', { cookie, 'sec-fetch-site': 'same-site' }],
    ['when a page of another host sent it', { cookie, 'sec-fetch-site': 'cross-site' }],
  ])('stays sealed %s', (_when, headers) => {
    expect(checked({ authorization, ...headers })).toBe(authorization)
  })

  it('stays sealed when any byte of it was changed, or most of it is missing', () => {
    const bytes = Buffer.from(sealed, 'base64url')
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      const altered = `Sealed ${changed.toString('base64url')}`
      expect(checked({ authorization: altered, cookie })).toBe(altered)
    }
    expect(checked({ authorization: 'Sealed AAAA', cookie })).toBe('Sealed AAAA')
  })

  it('is opened also where a program on another port added a cookie of the same name', () => {
    const planted = `toolcrib-7117=${sealToken('another-token').key}; ${cookie}`
    expect(checked({ authorization, cookie: planted })).toBe(`Bearer ${TOKEN}`)
    const flood = `${'toolcrib-7117=x; '.repeat(8)}${cookie}`
    expect(checked({ authorization, cookie: flood })).toBe(authorization)
  })

  it('changes no request that has a token, or nothing', () => {
    expect(checked({ authorization: 'Bearer mine', cookie })).toBe('Bearer mine')
    expect(checked({ cookie })).toBeNull()
  })

  it('holds the longest token that an OAuth issuer may send', () => {
    const token = 'x'.repeat(11_000)
    const long = sealToken(token)
    expect(long.key).toHaveLength(43)
    const headers = { authorization: `Sealed ${long.sealed}`, cookie: `toolcrib-7117=${long.key}` }
    expect(checked(headers)).toBe(`Bearer ${token}`)
  })
})

describe('the cookie of a key', () => {
  const at = (host: string, origin = `http://${host}`) => new Headers({ host, origin })

  it('is for the API alone, unreadable for scripts, and never sent for other sites', () => {
    expect(keyCookie(at('127.0.0.1:7117'), 'key')).toBe(
      'toolcrib-7117=key; Path=/api; HttpOnly; SameSite=Strict',
    )
  })

  it('is sent over TLS alone where the browser uses it', () => {
    expect(keyCookie(at('crib.example', 'https://crib.example'), 'key')).toBe(
      'toolcrib=key; Path=/api; HttpOnly; SameSite=Strict; Secure',
    )
  })

  it('is sent without TLS where nothing says that there is any', () => {
    expect(keyCookie(new Headers({ host: 'localhost' }), 'key')).not.toContain('Secure')
  })

  it('has another name for each port', () => {
    expect(keyCookie(at('[::1]:8080'), 'key')).toMatch(/^toolcrib-8080=key;/)
    expect(keyCookie(at('[::1]'), 'key')).toMatch(/^toolcrib=key;/)
  })

  it('goes when somebody signs out', () => {
    expect(keyCookie(at('127.0.0.1:7117'), undefined)).toBe(
      'toolcrib-7117=; Path=/api; HttpOnly; SameSite=Strict; Max-Age=0',
    )
  })
})

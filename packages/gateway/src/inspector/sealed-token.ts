import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * Keeps the page signed in. The gateway encrypts the token and gives the encrypted text to the page, and the key to the
 * browser, in a cookie that scripts cannot read. Each half is useless alone: browsers send cookies to every port of a
 * host, and scripts of the page can read what the page has stored. The gateway keeps neither, so a sign-in survives its
 * restart, works at every replica, and ends with the token.
 */
export interface SealedToken {
  readonly sealed: string
  readonly key: string
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
/** A program on another port may set cookies of the same name; a few are tried. */
const MAX_COOKIES = 8

export function sealToken(token: string): SealedToken {
  const [key, iv] = [randomBytes(KEY_BYTES), randomBytes(IV_BYTES)]
  const cipher = createCipheriv(CIPHER, key, iv)
  const sealed = Buffer.concat([iv, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { sealed: sealed.toString('base64url'), key: key.toString('base64url') }
}

/**
 * The headers and the address of a request, with the token in place of `Authorization: Sealed …`, if the cookie has its
 * key. Otherwise, and for requests of other pages, the request itself: they must send the token.
 */
export function withToken(request: Request): Request {
  const { headers, url } = request
  const sealed = /^Sealed ([\w-]+)$/.exec(headers.get('authorization') ?? '')?.[1]
  const sentBy = headers.get('sec-fetch-site') ?? 'same-origin'
  if (sealed === undefined || sentBy !== 'same-origin') return request
  for (const key of keysOf(headers)) {
    const token = openSealed({ sealed, key })
    if (token === undefined) continue
    const checked = new Headers(headers)
    checked.set('authorization', `Bearer ${token}`)
    return new Request(url, { headers: checked })
  }
  return request
}

/** The `Set-Cookie` header that gives a key to the browser, or deletes it. It lasts until the browser is closed. */
export function keyCookie(headers: Headers, key: string | undefined): string {
  // Only the browser knows whether it uses TLS: a proxy may terminate it.
  const isSecure = headers.get('origin')?.startsWith('https:') === true
  return [
    `${cookieName(headers)}=${key ?? ''}`,
    'Path=/api',
    'HttpOnly',
    'SameSite=Strict',
    ...(isSecure ? ['Secure'] : []),
    ...(key === undefined ? ['Max-Age=0'] : []),
  ].join('; ')
}

function openSealed({ sealed, key }: SealedToken): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  const keyBytes = Buffer.from(key, 'base64url')
  if (bytes.length < IV_BYTES + TAG_BYTES || keyBytes.length !== KEY_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, keyBytes, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    // Another key, or a changed text.
    return undefined
  }
}

function keysOf(headers: Headers): readonly string[] {
  const prefix = `${cookieName(headers)}=`
  const cookies = (headers.get('cookie') ?? '').split(';').map((cookie) => cookie.trim())
  return cookies
    .filter((cookie) => cookie.startsWith(prefix))
    .slice(0, MAX_COOKIES)
    .map((cookie) => cookie.slice(prefix.length))
}

/** Contains the port, since all ports of a host share their cookies. */
function cookieName(headers: Headers): string {
  const port = /:(\d+)$/.exec(headers.get('host') ?? '')?.[1]
  return port === undefined ? 'toolcrib' : `toolcrib-${port}`
}

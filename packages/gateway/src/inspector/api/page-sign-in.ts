import { keyCookie, sealToken } from '../sealed-token.ts'
import { invalid, writing } from './route.ts'

/**
 * Signs the page in with the token of this request: the page gets it encrypted, the browser gets the key as a cookie.
 */
export const pageSignIn = writing({}, (_inspection, _input, { headers }): Response => {
  const token = /^Bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (token === undefined) throw invalid('send the token as "Authorization: Bearer TOKEN"')
  const { sealed, key } = sealToken(token)
  return signedAs({ sealed }, keyCookie(headers, key))
})

/** Deletes the key, so that what the page has stored opens nothing. */
export const pageSignOut = writing({}, (_inspection, _input, { headers }): Response => {
  return signedAs({}, keyCookie(headers, undefined))
})

function signedAs(answer: object, cookie: string): Response {
  return Response.json(answer, { headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } })
}

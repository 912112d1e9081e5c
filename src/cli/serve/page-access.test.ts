import { expect, it } from 'vitest'
import { PageAccess } from './page-access.ts'

const PAGE = { token: 'token-of-the-page', isNew: true }

/** A gateway that lets in the token of a client, which is bound to a profile. */
const gateway = {
  check: async ({ headers }: Request) =>
    headers.get('authorization') === 'Bearer token-of-a-client'
      ? { profile: 'work' }
      : new Response(null, { status: 401 }),
  checkAddress: ({ url }: Request) =>
    new URL(url).hostname === 'localhost' ? undefined : new Response(null, { status: 403 }),
}

const check = (token: string, host = 'localhost') =>
  new PageAccess(PAGE, gateway).check(
    new Request(`http://${host}/api/tools`, { headers: { authorization: `Bearer ${token}` } }),
  )

it('lets in the token of the page, and whom the gateway lets in', async () => {
  expect(await check('token-of-the-page')).toEqual({})
  expect(await check('token-of-a-client')).toEqual({ profile: 'work' })
  expect(await check('token-of-nobody')).toMatchObject({ status: 401 })
})

it('refuses the token of the page at a foreign address', async () => {
  expect(await check('token-of-the-page', 'evil.example')).toMatchObject({ status: 403 })
})

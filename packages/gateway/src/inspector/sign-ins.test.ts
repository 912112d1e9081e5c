import { describe, expect, it } from 'vitest'
import { SignIns } from './sign-ins.ts'

const CONSENT = new URL('https://login.example/authorize?state=own')
const REDIRECT = new URLSearchParams({ state: 'own', code: 'the-code' })

function open() {
  const timers: (() => void)[] = []
  const signIns = new SignIns({
    origin: 'http://127.0.0.1:7117',
    schedule: (_delayMs, fire) => {
      timers.push(fire)
      return () => {}
    },
  })
  const stop = new AbortController()
  /** What a server's client does when it needs consent. */
  const authorize = (url = CONSENT) => signIns.oauth.authorize?.({ server: 'web', url, signal: stop.signal })
  return { signIns, authorize, stop, timers }
}

describe('a sign-in', () => {
  it('begins with a person: a start that nobody asked for fails with what to do', async () => {
    const { authorize } = open()
    await expect(authorize()).rejects.toThrow('nobody has signed in yet; sign in on the page')
  })

  it('shows where to consent, and ends with the redirect that has its state', async () => {
    const { signIns, authorize } = open()
    const url = signIns.begin('web')
    const consented = authorize()
    expect(await url).toEqual(CONSENT)
    expect(signIns.waiting('web')).toEqual(CONSENT)
    expect(signIns.waiting('other')).toBeUndefined()
    for (const state of ['forged', '', undefined])
      expect(signIns.finish(new URLSearchParams(state === undefined ? {} : { state }))).toBe(false)
    expect(signIns.finish(REDIRECT)).toBe(true)
    expect(await consented).toBe(REDIRECT)
    expect(signIns.waiting('web')).toBeUndefined()
    expect(signIns.finish(REDIRECT)).toBe(false)
  })

  it.each([
    ['another one begins', ({ signIns }: ReturnType<typeof open>) => void signIns.begin('web'), 'another'],
    ['it is cancelled', ({ signIns }: ReturnType<typeof open>) => signIns.cancel('web', 'enough'), 'enough'],
    ['nobody consents in time', ({ timers }: ReturnType<typeof open>) => timers[0]?.(), '10 minutes'],
    ['the server is stopped', ({ stop }: ReturnType<typeof open>) => stop.abort(), 'stopped meanwhile'],
    ['the gateway stops', ({ signIns }: ReturnType<typeof open>) => signIns.close(), 'gateway stops'],
  ])('fails when %s', async (_when, end, reason) => {
    const opened = open()
    opened.signIns.begin('web')
    const consented = opened.authorize()
    end(opened)
    await expect(consented).rejects.toThrow(reason)
    expect(opened.signIns.finish(REDIRECT)).toBe(false)
  })

  it('leads to web addresses only: a browser would run a script', async () => {
    const { signIns, authorize } = open()
    signIns.begin('web')
    await expect(authorize(new URL('javascript:alert(1)'))).rejects.toThrow('it must be https:')
    expect(signIns.waiting('web')).toBeUndefined()
  })

  it('comes back to where the page is served', () => {
    const { signIns } = open()
    signIns.origin = 'http://127.0.0.1:8000'
    expect(signIns.oauth.redirectUrl).toBe('http://127.0.0.1:8000/oauth/callback')
  })
})

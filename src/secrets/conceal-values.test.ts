import { describe, expect, it } from 'vitest'
import { concealerOf } from './conceal-values.ts'

describe('concealerOf', () => {
  it('removes configured values from a text, and names them', () => {
    const conceal = concealerOf({
      env: { API_KEY: 's3cret-key' },
      headers: { Authorization: 'Bearer t0ken-of-mine' },
      oauth: { client_secret: 'cl1ent-secret' },
    })
    expect(conceal('bad key s3cret-key')).toBe('bad key (API_KEY)')
    expect(conceal('got Bearer t0ken-of-mine')).toBe('got (Authorization)')
    expect(conceal('got t0ken-of-mine twice: t0ken-of-mine')).toBe(
      'got (Authorization) twice: (Authorization)',
    )
    expect(conceal('not cl1ent-secret')).toBe('not (client_secret)')
  })

  it('removes the lines of a long value one by one', () => {
    const conceal = concealerOf({ env: { PEM: '-----BEGIN\nMIIEvQIBADAN\n-----END' } })
    expect(conceal('cannot read MIIEvQIBADAN')).toBe('cannot read (PEM)')
  })

  it('leaves nothing of a value that starts like another', () => {
    const conceal = concealerOf({ env: { A: 'secret', B: 'secret-and-more' } })
    expect(conceal('secret-and-more')).toBe('(B)')
  })

  it('leaves values that are too short to be a secret', () => {
    expect(concealerOf({ env: { DEBUG: '1', MODE: '' } })('error 101')).toBe('error 101')
  })
})

import { describe, expect, it, test } from 'vitest'
import { callOf, fakeRunner, fakeScope, fakeTool, runOne } from '../call/fake-scope.fixture.ts'
import { concealerOf, secretConcealerOf } from './conceal.ts'
import { mapTexts } from './map-texts.ts'
import { maskArguments } from './mask-arguments.ts'

describe('mapTexts', () => {
  const upper = (value: unknown) => mapTexts(value, (text) => text.toUpperCase())

  test('visits shared data once, and handles cycles', () => {
    let shared: unknown = ['x']
    for (let level = 0; level < 60; level++) shared = [shared, shared]
    expect(upper(shared)).toBeInstanceOf(Array)
    const cyclic: Record<string, unknown> = { name: 'a' }
    cyclic.self = cyclic
    const copy = upper(cyclic) as Record<string, unknown>
    expect(copy.NAME).toBe('A')
    expect(copy.SELF).toBe(copy)
  })

  test('leaves values without text unchanged', () => {
    const date = new Date(0)
    const bytes = new Uint8Array([1, 2])
    expect(upper({ date, bytes, n: 1, none: null })).toEqual({ DATE: date, BYTES: bytes, N: 1, NONE: null })
  })

  test('changes the text in bytes, and shares no memory with the original', () => {
    const mask = (value: unknown) => mapTexts(value, (text) => text.replaceAll('hunter22', '***'))
    const pool = Buffer.from('key=hunter22;')
    const masked = mask({ data: pool, part: pool.subarray(4), whole: new Uint8Array(pool).buffer }) as {
      [name: string]: Uint8Array
    }
    expect(Buffer.from(masked.data ?? []).toString()).toBe('key=***;')
    expect(Buffer.from(masked.part ?? []).toString()).toBe('***;')
    expect(Buffer.from(masked.whole ?? []).toString()).toBe('key=***;')
    const plain = Buffer.from([0xff, 0xfe, 1])
    const copy = mask(plain) as Uint8Array
    expect([...copy]).toEqual([0xff, 0xfe, 1])
    copy[0] = 0
    expect(plain[0]).toBe(0xff)
    expect(mask(new Float64Array([1.5]))).toEqual(new Float64Array([1.5]))
  })

  test('maps the contents of maps and sets, and objects with toJSON', () => {
    expect(upper(new Map([['k', 'v']]))).toEqual(new Map([['K', 'V']]))
    expect(upper(new Set(['a']))).toEqual(new Set(['A']))
    expect(upper(new URL('https://example.com/x'))).toBe('HTTPS://EXAMPLE.COM/X')
    expect(Object.keys(upper(JSON.parse('{"__proto__": "x"}')) as object)).toEqual(['__PROTO__'])
  })
})

describe('maskArguments', () => {
  test('masks what looks like a secret, and keeps the rest of the text', () => {
    expect(
      maskArguments({
        header: 'Bearer abc.def-123',
        note: 'use sk-abcdef1234567890 or ghp_abcdefgh12345678 here',
        jwt_less: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
        url: 'postgres://bob:hunter2@db.example.com/x',
        plain: 'the risk-averse task',
      }),
    ).toEqual({
      header: 'Bearer ***',
      note: 'use *** or *** here',
      jwt_less: '***',
      url: 'postgres://***db.example.com/x',
      plain: 'the risk-averse task',
    })
  })

  test('leaves no part of a secret', () => {
    const tails = {
      header: 'Bearer abc:def!ghi@jkl',
      curl: 'curl -H "Authorization: Bearer abcdef#ghi" https://example.com',
      key: 'sk-abcdef1234567890.tail+more',
      jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln~tail',
      url: 'postgres://bob:p@ss@db.example.com/x',
      long: `https://me:${'x'.repeat(500)}@example.com/`,
      slash: 'postgres://bob:pa/ss-w0rd@db.example.com/x',
    }
    expect(maskArguments(tails)).toEqual({
      header: 'Bearer ***',
      curl: 'curl -H "Authorization: Bearer ***" https://example.com',
      key: '***',
      jwt: '***',
      url: 'postgres://***db.example.com/x',
      long: 'https://***example.com/',
      slash: 'postgres://bob:***@db.example.com/x',
    })
  })

  test('masks by name: keys, headers in lists, pairs of name and value', () => {
    expect(
      maskArguments({
        signing_key: 'x',
        headers: [
          { name: 'Authorization', value: 'Token x' },
          { name: 'Accept', value: 'text/html' },
        ],
        lines: ['X-Api-Key: abc', 'Accept: text/html'],
        pairs: [['cookie', 'a=b']],
        max_tokens: 5,
      }),
    ).toEqual({
      signing_key: '***',
      headers: [
        { name: 'Authorization', value: '***' },
        { name: 'Accept', value: 'text/html' },
      ],
      lines: ['X-Api-Key: ***', 'Accept: text/html'],
      pairs: [['cookie', '***']],
      max_tokens: 5,
    })
  })
})

describe('metadata of a result', () => {
  const tool = fakeTool({
    execute: () => ({ ok: true, value: 'long', meta: { 'x/key': ['hunter2'] } }),
    reduce: () => ({ ok: true, value: 'short' }),
  })

  test('stays when a reducer leaves it out', async () => {
    expect(await runOne(tool, {})).toEqual({ ok: true, value: 'short', meta: { 'x/key': ['hunter2'] } })
  })

  test('is masked like the rest', async () => {
    const mask = (text: string) => text.replaceAll('hunter2', '***')
    const secrets = { open: () => ({ get: () => '' }), mask }
    const result = await runOne(tool, {}, { scope: { backends: { secrets } as never } })
    expect(result).toEqual({ ok: true, value: 'short', meta: { 'x/key': ['***'] } })
  })
})

describe('values passed around a call', () => {
  test('hooks and reducers get copies, however deep', async () => {
    const structured = { deep: { list: [1] } }
    const spoil = (result: unknown) => {
      ;(result as { structured: typeof structured }).structured.deep.list.push(2)
      return undefined
    }
    const tool = fakeTool({ execute: () => ({ ok: true, value: 'x', structured }), reduce: spoil })
    const hooks = { after_tool_call: (_call: unknown, result: unknown) => spoil(result) }
    const result = await runOne(tool, {}, { scope: { hooks } })
    expect(result).toEqual({ ok: true, value: 'x', structured: { deep: { list: [1] } } })
    expect(structured.deep.list).toEqual([1])
  })

  test('a result about one turn’s attachments is not reused for another’s', async () => {
    let calls = 0
    const tool = fakeTool({
      annotations: { readOnlyHint: true },
      cacheTtlMs: 60_000,
      capabilities: { attachments: true },
      execute: () => ({ ok: true, value: String(++calls) }),
    })
    const backends = { attachments: { open: () => [] } }
    const runner = fakeRunner()
    const environment = fakeScope([tool], { backends })
    const attachments = [{ name: 'a', mimeType: 'text/plain', data: 'x' }]
    const values = []
    for (const given of [attachments, attachments, [], []]) {
      const [answer] = await runner.execute(
        [callOf('echo')],
        { sessionId: 's', attachments: given },
        environment,
      )
      values.push(answer?.result.ok && answer.result.value)
    }
    expect(values).toEqual(['1', '2', '3', '3'])
  })

  test('the same arguments are the same call, however they are written', async () => {
    const runner = fakeRunner()
    const environment = fakeScope([fakeTool()], { maxIdenticalCalls: 2 })
    const codes = async (forms: readonly unknown[]) => {
      const answers = []
      for (const args of forms) {
        const [answer] = await runner.execute([callOf('echo', args)], { sessionId: 's' }, environment)
        answers.push(answer?.result.ok === false ? answer.result.code : 'ok')
      }
      return answers
    }
    expect(await codes([{ q: 1, r: 2 }, '{"r":2,"q":1}', { r: 2, q: 1 }])).toEqual(['ok', 'ok', 'repeated'])
    expect(await codes([undefined, {}, ''])).toEqual(['ok', 'ok', 'repeated'])
    expect(await codes([{ q: '1' }, { q: 1 }, { q: '1' }, ['q'], { q: 10n }])).toEqual([
      'ok',
      'ok',
      'ok',
      'ok',
      'input_invalid',
    ])
  })
})

describe('errors about arguments', () => {
  const errorOf = async (inputSchema: object, args: unknown) => {
    const result = await runOne(fakeTool({ inputSchema: inputSchema as never }), args)
    return result.ok ? '' : result.error
  }

  test('names every alternative', async () => {
    const schema = { properties: { speed: { anyOf: [{ const: 'fast' }, { const: 'slow' }] } } }
    expect(await errorOf(schema, { speed: 'medium' })).toContain(
      'speed: expected "fast" or "slow", got string ("medium")',
    )
  })

  test('says what was expected and given, whatever the keyword', async () => {
    expect(await errorOf({ minProperties: 2 }, { a: 1 })).toContain(
      'at least 2 properties, got object ({"a":1})',
    )
    expect(await errorOf({ properties: { a: { not: { type: 'string' } } } }, { a: 'x' })).toContain(
      'a: expected a value that does not match {"type":"string"}, got string ("x")',
    )
    expect(await errorOf({ dependentRequired: { a: ['b'] } }, { a: 1 })).toContain(
      'expected b together with a',
    )
    expect(
      await errorOf({ properties: { a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } }, { a: 1 }),
    ).toContain('exactly one of the alternatives')
    expect(await errorOf({ properties: { a: { contains: { type: 'string' } } } }, { a: [1] })).toContain(
      'got ',
    )
  })
})

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

describe('a configured secret in another form', () => {
  const KEY = 'Zq7/rT+9xLm2=vK4'
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const bytes = [...Buffer.from(KEY)]
  const hex = Buffer.from(KEY).toString('hex')
  const forms: Readonly<Record<string, string>> = {
    verbatim: KEY,
    'in capitals': KEY.toUpperCase(),
    'in small letters': KEY.toLowerCase(),
    reversed: [...KEY].reverse().join(''),
    base64: base64(KEY),
    'base64 without padding': base64(KEY).replace(/=+$/, ''),
    base64url: Buffer.from(KEY).toString('base64url'),
    'base64 of a line': base64(`${KEY}\n`),
    'base64 within more': base64(`{"key":"${KEY}","user":"ada"}`),
    'base64 over several lines': base64(`${KEY}${'.'.repeat(40)}`).replace(/.{12}/g, '$&\n'),
    'base64 twice': base64(base64(KEY)),
    'base64 twice, without padding': base64(base64(KEY).replace(/=+$/, '')),
    'base64 of UTF-16': Buffer.from(KEY, 'utf16le').toString('base64'),
    'Basic credentials': `Basic ${base64(`ada:${KEY}`)}`,
    hexadecimal: hex,
    'hexadecimal in capitals': hex.toUpperCase(),
    'hexadecimal with colons': hex.replace(/..(?=.)/g, '$&:'),
    'escapes of a program': hex.replace(/../g, '\\x$&'),
    'a list of numbers': JSON.stringify(bytes),
    'numbers with spaces': bytes.join(' '),
    'octal escapes': bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
    'in a URL': encodeURIComponent(KEY),
    'in a URL, twice': encodeURIComponent(encodeURIComponent(KEY)),
    'every byte in a URL': bytes.map((byte) => `%${byte.toString(16)}`).join(''),
    'in JSON': JSON.stringify(KEY).slice(1, -1),
    'in JSON with escaped slashes': KEY.replaceAll('/', '\\/'),
    'as HTML numbers': bytes.map((byte) => `&#${byte};`).join(''),
    'as Unicode escapes': bytes.map((byte) => `\\u00${byte.toString(16)}`).join(''),
    'with spaces': [...KEY].join(' '),
    'in mail': KEY.replaceAll('=', '=3D'),
    truncated: `${base64(KEY.repeat(2)).slice(0, 20)}…`,
  }

  it.each(Object.entries(forms))('is concealed: %s', (_, form) => {
    const config = { env: { API_KEY: KEY, OTHER: KEY.repeat(2) } }
    for (const conceal of [
      concealerOf(config),
      secretConcealerOf({ env: { API_KEY: KEY, LONG_KEY: KEY.repeat(2) } }),
    ]) {
      const shown = conceal?.(`the server says: ${form}`) ?? ''
      expect(shown).not.toContain(form)
      expect(shown).toMatch(/^the server says: .*\(\w+\)/)
    }
  })

  it('is concealed where it is part of a value', () => {
    const conceal = secretConcealerOf({
      env: {
        DATABASE_URL: 'postgres://app:S3cretPassw0rd@db/x',
        SETTINGS: '{"client_secret":"abcdef123456"}',
      },
      headers: {
        Authorization: `Basic ${Buffer.from('ada:hunter2-hunter2').toString('base64')}`,
        Cookie: 'sid=open-sesame',
      },
    })
    expect(conceal?.('S3cretPassw0rd abcdef123456 ada:hunter2-hunter2 sid=open-sesame')).toBe(
      '(DATABASE_URL) (SETTINGS) (Authorization) (Cookie)',
    )
  })

  it('leaves ordinary values in texts of a server alone', () => {
    const conceal = secretConcealerOf({
      env: { NODE_ENV: 'production', HOME: '/home/ada', TOKEN: 'tok-12345' },
    })
    expect(conceal?.('production at /home/ada with tok-12345')).toBe('production at /home/ada with (TOKEN)')
    expect(secretConcealerOf({ env: { NODE_ENV: 'production' } })).toBeUndefined()
  })
})

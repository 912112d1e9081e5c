import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { maskValues } from '@toolcrib/core/internal'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SecretsOptions, secretsBackend } from './secrets.ts'
import { testScope } from './testing-scope.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'toolcrib-secrets-'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

const environment = { API_KEY: 'key-12345678', OTHER: 'other-secret', EMPTY: '', UNLISTED: 'unlisted-value' }

async function secrets(options: SecretsOptions, declared = ['*']) {
  return secretsBackend({ environment, ...options }).open(declared, testScope())
}

describe('secrets', () => {
  it('are given by name to a tool that declared them, when the host lists them', async () => {
    const access = await secrets({ env: ['API_KEY', 'OTHER'] }, ['API_KEY', 'UNLISTED'])
    expect(access.get('API_KEY')).toBe('key-12345678')
    expect((await secrets({ env: ['API_KEY', 'OTHER'] })).get('OTHER')).toBe('other-secret')
  })

  it('throw, with the name, if not declared or not granted', async () => {
    const access = await secrets({ env: ['API_KEY', 'OTHER'] }, ['API_KEY', 'UNLISTED'])
    expect(() => `Bearer ${access.get('UNLISTED')}`).toThrow(
      'secret "UNLISTED" is not available: the host does not grant it; add it to secretsBackend',
    )
    expect(() => access.get('OTHER')).toThrow(
      'secret "OTHER" is not available: probe does not declare it; declare it in capabilities.secrets',
    )
    expect(() => access.get('UNLISTED')).toThrow(expect.objectContaining({ code: 'denied' }))
    const all = await secrets({ env: ['API_KEY'] })
    expect(() => all.get('UNLISTED')).toThrow('the host does not grant it')
  })

  it('come from options that are checked', () => {
    expect(() => secretsBackend({ envv: ['A'] } as never)).toThrow('did you mean "env"?')
    expect(() => secretsBackend({ env: 'A' } as never)).toThrow('env is "A"; it must be an array of strings')
  })

  it('are denied when none of the declared ones exists', async () => {
    await expect(secrets({ env: ['API_KEY'] }, ['OTHER'])).rejects.toMatchObject({ code: 'denied' })
    await expect(secrets({ env: ['EMPTY', 'constructor'] }, ['*'])).rejects.toMatchObject({ code: 'denied' })
  })

  it('come from JSON and from NAME=value files; the environment takes precedence', async () => {
    const json = join(home, 'secrets.json')
    await writeFile(json, JSON.stringify({ API_KEY: 'from-the-file', FILE_ONLY: 'file-only' }))
    const both = await secrets({ env: ['API_KEY'], file: json })
    expect([both.get('API_KEY'), both.get('FILE_ONLY')]).toEqual(['key-12345678', 'file-only'])
    const dotenv = join(home, '.env')
    await writeFile(dotenv, '# comment\nTOKEN="with spaces"\nexport PLAIN=plain-value\n')
    const fromDotenv = await secrets({ file: dotenv })
    expect([fromDotenv.get('TOKEN'), fromDotenv.get('PLAIN')]).toEqual(['with spaces', 'plain-value'])
  })

  it('do not leak through errors about their file', async () => {
    const bad = join(home, 'bad.json')
    await writeFile(bad, '{"API_KEY": "key-12345678",,}')
    expect(() => secretsBackend({ file: bad })).toThrow(/^(?!.*key-123).*not valid JSON/)
    await writeFile(bad, '["key-12345678"]')
    expect(() => secretsBackend({ file: bad })).toThrow('does not contain a JSON object')
    await writeFile(bad, '{"PIN": 123456}')
    expect(() => secretsBackend({ file: bad })).toThrow('"PIN"')
    expect(() => secretsBackend({ file: join(home, 'missing') })).toThrow('cannot be read')
  })

  it('too short to mask cause a warning, with the name only', () => {
    const warnings: string[] = []
    const backend = secretsBackend({
      env: ['PIN', 'API_KEY'],
      environment: { PIN: '12345', API_KEY: 'key-12345678' },
      onWarning: (message) => warnings.push(message),
    })
    expect(warnings).toEqual([expect.stringContaining('"PIN"')])
    expect(warnings[0]).not.toContain('12345')
    expect(backend.mask('12345 key-12345678')).toBe('12345 ***')
  })
})

describe('masking', () => {
  it('finds truncated secrets, and nothing else that starts alike', () => {
    const key = 'k3yAbCdEfGhIjKlMnOpQrStUvWxYz0123456789'
    const mask = maskValues([key])
    expect(mask(`token=${key.slice(0, 30)}…`)).toBe('token=***…')
    expect(mask(`token=${key.slice(0, 15)}`)).toBe('token=***')
    expect(mask(`${key.slice(0, 20)}\n[99 bytes dropped]\n${key.slice(-14)} rest`)).toBe(
      '***\n[99 bytes dropped]\n*** rest',
    )
    const other = `${key.slice(0, 14)} is how such keys begin`
    expect(mask(other)).toBe(other)
  })

  it.each([
    ['by number', (letter: string) => `&#${letter.charCodeAt(0)};`],
    ['in hexadecimal', (letter: string) => `&#x${letter.charCodeAt(0).toString(16)};`],
  ])('finds truncated secrets with HTML references %s, also where a reference is cut', (_how, written) => {
    const html = 'k3yAbCdEfGhIjKlMnOpQrStUvWxYz'.replace(/./g, written)
    const mask = maskValues(['k3yAbCdEfGhIjKlMnOpQrStUvWxYz'])
    for (let length = 12; length < html.length; length++) {
      expect(mask(`key ${html.slice(0, length)}…`)).toBe('key ***…')
      expect(mask(`…${html.slice(-length)} key`)).toBe('…*** key')
    }
  })

  const value = fc
    .string({ minLength: 6, maxLength: 40, unit: 'grapheme' })
    .filter((text) => !text.includes('*'))
  const around = fc.string({ maxLength: 12 })

  it('leaves no value in any text, whatever surrounds it', () => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 3 }),
        around,
        around,
        (values, before, after) => {
          const mask = maskValues(values)
          const text = before + values.join(after) + after
          for (const secret of values) expect(mask(text)).not.toContain(secret)
        },
      ),
    )
  })

  it('finds base64, also of a longer text that contains the value', () => {
    fc.assert(
      fc.property(value, around, around, (secret, before, after) => {
        const bytes = Buffer.from(before + secret + after)
        for (const encoding of ['base64', 'base64url'] as const) {
          const masked = maskValues([secret])(`Basic ${bytes.toString(encoding)}`)
          expect(masked).toContain('***')
          const left = Buffer.from(masked.slice(6).split('***')[0] ?? '', encoding).toString()
          expect(left.length).toBeLessThanOrEqual(Buffer.from(before).length + 1)
        }
      }),
    )
  })

  it('finds URL and JSON forms', () => {
    const mask = maskValues(['p@ss wörd/"1"'])
    for (const text of [
      `https://x.test/?q=${encodeURIComponent('p@ss wörd/"1"')}`,
      `https://x.test/?q=${encodeURIComponent('p@ss wörd/"1"').toLowerCase()}`,
      `https://x.test/?${new URLSearchParams({ q: 'p@ss wörd/"1"' })}`,
      JSON.stringify({ q: 'p@ss wörd/"1"' }),
    ]) {
      expect(mask(text)).toContain('***')
      expect(mask(text)).not.toMatch(/rd/)
    }
  })

  it.each([
    ['hexadecimal', (text: string) => Buffer.from(text).toString('hex')],
    ['hexadecimal in capitals', (text: string) => Buffer.from(text).toString('hex').toUpperCase()],
    ['hexadecimal within more', (text: string) => Buffer.from(`user:${text}\n`).toString('hex')],
    [
      'hexadecimal with colons',
      (text: string) =>
        Buffer.from(text)
          .toString('hex')
          .replace(/..(?=.)/g, '$&:'),
    ],
    ['base64', (text: string) => btoa(`me:${Buffer.from(text).toString('latin1')}`)],
    [
      'percent escapes of every byte',
      (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&'),
    ],
    ['HTML', (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')],
    [
      'HTML by number',
      (text: string) =>
        text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&#34;').replace(/é/g, '&#xe9;'),
    ],
    [
      'HTML, every letter by number',
      (text: string) => text.replace(/./gsu, (letter) => `&#${letter.codePointAt(0)};`),
    ],
    [
      'HTML, every letter in hexadecimal',
      (text: string) => text.replace(/./gsu, (letter) => `&#x${letter.codePointAt(0)?.toString(16)};`),
    ],
    [
      'JSON, every letter escaped',
      (text: string) =>
        text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ],
    ['JSON in ASCII', (text: string) => JSON.stringify(text).replace(/é/g, '\\u00e9')],
    ['JSON within JSON', (text: string) => JSON.stringify(JSON.stringify({ a: text }))],
  ])('finds a value in %s', (_encoding, encode) => {
    const secret = 'p&ss<"wérd"/x'
    const text = `before ${encode(secret)} after`
    expect(encode(secret)).not.toContain(secret)
    expect(maskValues([secret])(text)).toMatch(/\*\*\*/)
    expect(maskValues([secret])(text)).not.toMatch(/ss|rd|7373|w|#|u00/)
  })

  it.each([
    ['in capitals', 'k-äO-key', '&#x6B;&#x2D;&#xE4;&#x4F;&#x2D;&#x6B;&#x65;&#x79;'],
    ['with a capital X', 'k-äO-key', '&#X6b;&#X2d;&#Xe4;&#X4f;&#X2d;&#X6b;&#X65;&#X79;'],
    ['with leading zeros', 'k-äO-key', '&#107;&#045;&#228;&#079;&#045;&#107;&#101;&#121;'],
    [
      'with zeros to four digits',
      'k-äO-key',
      '&#x006b;&#x002d;&#x00E4;&#x004f;&#x002D;&#x006b;&#x0065;&#x0079;',
    ],
    ['at one letter', 'k-äO-key', 'k-&#xE4;O-key'],
    ['at the first and the last letter', 'k-äO-key', '&#x6B;-äO-ke&#0121;'],
    ['without semicolons', 'k-äO-key', '&#x6B&#x2D&#228O-key'],
    ['beside names', 'a<b&c"d', 'a&LT;b&amp;&#x63;&quot;d'],
    ['of an emoji', 'pass\u{1f511}word', 'pass&#x1F511;word'],
    ['of an emoji in halves', 'pass\u{1f511}word', 'pass&#55357;&#56593;word'],
  ])('finds a value with HTML references %s', (_how, secret, written) => {
    const mask = maskValues([secret])
    expect(mask(written)).toBe('***')
    expect(mask(`&lt;a&gt; &#x41; ${written}&#x42; & ${written}; &#x110000;`)).toBe(
      '&lt;a&gt; &#x41; ***&#x42; & ***; &#x110000;',
    )
  })

  it('leaves nothing where values overlap', () => {
    expect(maskValues(['abcdefgh', 'efghijkl'])('-abcdefghijkl-')).toBe('-***-')
    expect(maskValues(['secret', 'secret-longer'])('secret-longer secret')).toBe('*** ***')
  })

  it('finds each line of a key, but not its header and footer', () => {
    const key =
      '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----'
    const mask = maskValues([key])
    expect(mask('log: AoIBAQC7VJTUt9Us8cKj')).toBe('log: ***')
    expect(mask('-----BEGIN PRIVATE KEY-----')).toBe('-----BEGIN PRIVATE KEY-----')
    expect(mask(key)).toBe('***')
  })

  it('leaves other text unchanged', () => {
    fc.assert(fc.property(fc.string(), (text) => maskValues(['zzz-unlikely-zzz'])(text) === text))
    expect(maskValues([])('text')).toBe('text')
  })
})

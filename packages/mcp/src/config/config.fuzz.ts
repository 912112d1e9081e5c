import { ToolcribError } from '@toolcrib/core'
import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import { parseConfigFile } from './config-file.ts'
import { expandVariables } from './expand-variables.ts'
import { readConfig } from './load-config.ts'

const TOML = `require_lock = true
[tools]
registry_mode = "lazy"
max_active_schemas = 24
[server.weather]
command = "node"
args = ["\${HOME}/x", "\${A:-b}"]
env = { TOKEN = "\${TOKEN}" }
[server.far]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer \${TOKEN:-none}" }
[profile.work]
servers = ["far"]
`
const JSON_TEXT = JSON.stringify({
  mcpServers: { weather: { command: 'node', args: ['${HOME}'] }, far: { url: 'https://example.com/mcp' } },
})
const env = { HOME: '/home/me', A: '', TOKEN: 'secret' }

/** Pieces of a file cut out, doubled or replaced. */
const edits = fc.array(
  fc.record({
    at: fc.nat(500),
    length: fc.nat(30),
    text: fc.oneof(
      fc.constantFrom(
        '"',
        '[',
        ']',
        '{',
        '}',
        '=',
        ',',
        '\n',
        '${',
        '}',
        ':-',
        'true',
        '1e999',
        '\\u0000',
        '.',
        '#',
      ),
      fc.constantFrom(
        '__proto__',
        'constructor',
        'toString',
        'server',
        'mcpServers',
        'command',
        'url',
        'trust',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
  }),
  { minLength: 1, maxLength: 6 },
)

fuzz(
  'a config file is read, or throws config-invalid',
  fc.tuple(fc.constantFrom(['/c.toml', TOML], ['/c.json', JSON_TEXT]), edits),
  async ([[path = '', text = ''], changes]) => {
    let edited = text
    for (const { at, length, text: put } of changes) {
      const start = at % (edited.length + 1)
      edited = edited.slice(0, start) + put + edited.slice(start + length)
    }
    try {
      const file = await parseConfigFile(edited, path)
      const { servers } = readConfig(file.data, { env, file })
      for (const name of Object.keys(servers)) expect(Object.hasOwn(servers, name)).toBe(true)
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      expect(error.code).toBe('config-invalid')
    }
  },
)

const references = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '${',
        '}',
        ':-',
        'HOME',
        'A',
        'MISSING',
        'env:',
        'input:',
        'userHome',
        'constructor',
        '$',
        '{',
      ),
      fc.string({ maxLength: 3 }),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''))

fuzz('variables are expanded from the environment alone', references, (text) => {
  const expanded = expandVariables(text, { env })
  const [kind] = Object.keys(expanded)
  expect(['text', 'missing', 'unknown']).toContain(kind)
  expect(JSON.stringify(expanded)).not.toContain('native code')
  if (!text.includes('${')) expect(expanded).toEqual({ text })
})

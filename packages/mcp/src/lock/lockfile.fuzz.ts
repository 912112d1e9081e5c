import { ToolcribError } from '@toolcrib/core'
import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import { lockServers } from './lockfile.ts'
import { readLock, writeLock } from './lockfile-text.ts'

const texts = fc.string({ unit: 'binary', maxLength: 20 })
const tools = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, unit: 'binary' }),
    description: texts,
    inputSchema: fc.dictionary(texts, fc.jsonValue()),
  }),
  { maxLength: 3, selector: ({ name }) => name },
)
const lockfiles = fc
  .dictionary(fc.string({ minLength: 1 }), fc.tuple(texts, tools), { maxKeys: 3 })
  .map((servers) =>
    lockServers(
      new Map(
        Object.entries(servers).map(([name, [command, listed]]) => [
          name,
          { config: { command, args: [], env: {} }, tools: listed } as never,
        ]),
      ),
    ),
  )

fuzz('a lockfile is read as it was written', lockfiles, async (lockfile) => {
  const text = writeLock(lockfile)
  expect(writeLock(await readLock(text, '/toolcrib.lock'))).toBe(text)
})

const edits = fc.array(
  fc.tuple(fc.nat(2_000), fc.nat(20), fc.oneof(texts, fc.constantFrom('{', '[', '"', 'null', '0'))),
  {
    minLength: 1,
    maxLength: 4,
  },
)

fuzz(
  'a damaged lockfile is read, or throws config-invalid',
  fc.tuple(lockfiles, edits),
  async ([lockfile, changes]) => {
    let text = writeLock(lockfile)
    for (const [at, length, put] of changes) {
      const start = at % (text.length + 1)
      text = text.slice(0, start) + put + text.slice(start + length)
    }
    try {
      expect((await readLock(text, '/toolcrib.lock')).servers).toBeInstanceOf(Map)
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      expect(error.code).toBe('config-invalid')
    }
  },
)

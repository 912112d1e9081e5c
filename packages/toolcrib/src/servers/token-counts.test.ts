import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ToolDefinition } from '@toolcrib/core'
import { exactTokenCounter } from '@toolcrib/embedder/tokens'
import { fileStore } from '@toolcrib/mcp/stores'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TokenCounts } from './token-counts.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolcrib-counts-'))
})
afterEach(() => rm(folder, { recursive: true }))

const definition = (name: string): ToolDefinition => ({
  name,
  description: `Reads the ${name} of a city.`,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
})
const [RAIN, SNOW] = [definition('rain'), definition('snow')]

const open = () => new TokenCounts({ env: { XDG_CACHE_HOME: folder } })

/** What is kept, by hash. */
async function kept(change?: (counts: Record<string, unknown>) => Record<string, unknown>) {
  const store = fileStore({ directory: join(folder, 'toolcrib', 'store') })
  const counts = ((await store.get('tokens:o200k')) ?? {}) as Record<string, number>
  if (change) await store.set('tokens:o200k', change(counts) as Record<string, number>)
  await store.close()
  return counts
}

describe('token counts', () => {
  it('are exact, in the order of the definitions', async () => {
    const countTokens = await exactTokenCounter()
    const exact = [RAIN, SNOW].map((each) => countTokens(JSON.stringify(each)))
    expect(await open().each([RAIN, SNOW])).toEqual(exact)
    expect(await open().sum([SNOW, RAIN, SNOW])).toBe((exact[0] ?? 0) + 2 * (exact[1] ?? 0))
  })

  it('are kept from run to run, by a hash of the definition', async () => {
    await open().each([RAIN])
    const counts = await kept((before) => Object.fromEntries(Object.keys(before).map((key) => [key, 7])))
    expect(Object.keys(counts)).toHaveLength(1)
    // What is kept is used, so the tables are not loaded.
    expect(await open().each([RAIN])).toEqual([7])
    const [snow = 0] = await open().each([SNOW])
    expect(await open().each([RAIN, SNOW])).toEqual([7, snow])
    expect(await open().each([{ ...RAIN, description: 'Other.' }])).not.toEqual([7])
  })

  it('are counted again where what is kept is not a count', async () => {
    const exact = await open().each([RAIN])
    await kept((before) => Object.fromEntries(Object.keys(before).map((key) => [key, 'many'])))
    expect(await open().each([RAIN])).toEqual(exact)
  })

  it('need no cache folder', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    const exact = await open().each([RAIN])
    expect(await new TokenCounts({ env: {} }).each([RAIN])).toEqual(exact)
    expect(await new TokenCounts({ env: { XDG_CACHE_HOME: file } }).each([RAIN])).toEqual(exact)
    expect(await readFile(file, 'utf8')).toBe('')
  })
})

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { minilm } from './minilm.ts'
import { staticEmbedder } from './static-embedder.ts'
import { TokenTable, tableBytes } from './token-table.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-table-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('a token table', () => {
  const bytes = tableBytes('tiny', ['sun', 'moon', 'é'], Float32Array.from([1, 0, 0, 2, 0.3, 0.4]))
  const network = Float32Array.from([1, 0, 0, 1])
  const withNetwork = tableBytes('tiny', ['sun', 'moon'], Float32Array.from([1, 0, 0, 2]), network)

  it('reads back what was written, at any byte offset', () => {
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    for (const table of [TokenTable.read(bytes), TokenTable.read(shifted.subarray(3))]) {
      expect(table.header).toEqual({ name: 'tiny', dimensions: 2, tokens: 3 })
      expect(table.embed('Sun')).toEqual(Float32Array.from([1, 0]))
    }
  })

  it('adds the vectors of tokens up, as long as they are, and scales the sum to length 1', () => {
    const [x = 0, y = 0] = TokenTable.read(bytes).embed('sun, moon')
    expect(Math.hypot(x, y)).toBeCloseTo(1)
    expect(y / x).toBeCloseTo(2)
  })

  it('gives zeros for a text without a known word', () => {
    expect(TokenTable.read(bytes).embed('?!')).toEqual(new Float32Array(2))
  })

  it('changes the vectors of requests by a network, if there is one', () => {
    // One unit that listens to the first coordinate and adds as much of the second.
    const table = TokenTable.read(withNetwork)
    expect(table.header.units).toBe(1)
    expect(table.embed('sun')).toEqual(Float32Array.from([1, 0]))
    const [sun = [], moon = [], nothing] = table.embedRequests(['sun', 'moon', '?!'])
    expect([...sun]).toEqual([expect.closeTo(Math.SQRT1_2), expect.closeTo(Math.SQRT1_2)])
    expect([...moon]).toEqual([0, 1])
    expect(nothing).toEqual(new Float32Array(2))
    expect(TokenTable.read(bytes).embedRequests(['sun'])).toEqual([Float32Array.from([1, 0])])
  })

  it('rejects bytes that are not a table, including truncated ones', () => {
    const truncated = [bytes, withNetwork].map((whole) => whole.subarray(0, whole.length - 1))
    for (const wrong of [new Uint8Array(0), new Uint8Array(100), ...truncated])
      expect(() => TokenTable.read(wrong)).toThrow('not a token table')
  })
})

describe('the static embedder', () => {
  it('takes the bytes of a model instead of a file', async () => {
    const bytes = tableBytes('tiny', ['sun', 'moon'], Float32Array.from([1, 0, 0, 2]))
    const tiny = staticEmbedder({ bytes })
    expect([tiny.name, tiny.dimensions]).toEqual(['tiny', 2])
    expect(await tiny.embed(['moon'])).toEqual([Float32Array.from([0, 1])])
    expect(() => staticEmbedder({ bytes: 'tiny' } as never)).toThrow('a Uint8Array')
  })

  const embedder = staticEmbedder()
  const similarity = async (a: string, b: string): Promise<number> => {
    const [x = new Float32Array(), y = new Float32Array()] = await embedder.embed([a, b])
    return Array.from(x).reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  }

  it('has the same name and dimensions before and after loading', async () => {
    const before = [embedder.name, embedder.dimensions]
    const [vector] = await embedder.embed(['anything'])
    expect([embedder.name, embedder.dimensions]).toEqual(before)
    expect(vector).toHaveLength(embedder.dimensions)
  })

  it.each([
    ['send an email', 'deliver a message to a mailbox', 'resize a picture'],
    ['weather tomorrow', 'temperature and rain forecast', 'create a pull request'],
    ['how much is 100 dollars in euros', 'convert currencies', 'play a song'],
    ['delete a file', 'remove a document from disk', 'list calendar events'],
  ])('puts "%s" closer to "%s" than to "%s"', async (text, near, far) => {
    expect(await similarity(text, near)).toBeGreaterThan((await similarity(text, far)) + 0.1)
  })

  it('comes in a file under 8.5 MB', () => {
    expect(statSync(join(import.meta.dirname, '../models/tool-table-v6.bin')).size).toBeLessThan(8.5e6)
  })

  it('names the file that is missing or wrong', () => {
    const wrong = join(folder, 'wrong.bin')
    writeFileSync(wrong, 'not a table')
    expect(() => staticEmbedder({ path: join(folder, 'none.bin') }).embed(['a'])).toThrow('none.bin')
    expect(() => staticEmbedder({ path: wrong }).embed(['a'])).toThrow('not a token table')
  })
})

describe('minilm', () => {
  it('names what is missing on first use, not before', async () => {
    const embedder = minilm({ folder })
    expect(embedder.dimensions).toBe(384)
    await expect(embedder.embed(['a'])).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('takes the mean over the tokens of each text, short and long ones in order', async () => {
    writeFileSync(
      join(folder, 'tokenizer.json'),
      JSON.stringify({
        model: { vocab: { '[PAD]': 0, '[CLS]': 1, '[SEP]': 2, '[UNK]': 3, sun: 4, moon: 5 } },
      }),
    )
    // A model in which every token points in the direction of its own number.
    class Tensor {
      readonly data: BigInt64Array
      constructor(_type: 'int64', data: BigInt64Array) {
        this.data = data
      }
    }
    const session = {
      async run(feeds: Record<string, unknown>) {
        const ids = feeds.input_ids as Tensor
        const hidden = new Float32Array(ids.data.length * 384)
        for (const [at, id] of ids.data.entries()) hidden[at * 384 + Number(id)] = 1
        return { last_hidden_state: { data: hidden } }
      },
    }
    const runtime = { Tensor, InferenceSession: { create: async () => session } }
    const [moon, sun] = await minilm({ folder, runtime }).embed(['moon moon moon', 'sun'])
    expect(Array.from(sun?.slice(0, 6) ?? [])).toEqual(
      [0, 1, 1, 0, 1, 0].map((value) => expect.closeTo(value / Math.sqrt(3))),
    )
    expect(Array.from(moon?.slice(0, 6) ?? [])).toEqual(
      [0, 1, 1, 0, 0, 3].map((value) => expect.closeTo(value / Math.sqrt(11))),
    )
  })
})

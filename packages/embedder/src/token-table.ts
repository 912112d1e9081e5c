import { ToolcribError } from '@toolcrib/core'
import { RequestNetwork } from './request-network.ts'
import { TextTokens } from './text-tokens.ts'

/** First bytes of a model file. */
const MAGIC = 'TCTABLE1'
/** Maximum tokens read per text; further ones make no difference. */
const MAX_TOKENS = 128
const ALIGNMENT = 8

/** The header of a model file. */
export interface TableHeader {
  readonly name: string
  readonly dimensions: number
  readonly tokens: number
  /** Units of the network for requests; without it, requests are read as tools are. */
  readonly units?: number
}

/**
 * A static embedding model: one vector per token, in bytes with a scale per row. A text's vector is the sum of its
 * tokens' vectors, scaled to length 1. It ignores word order and needs only a table lookup: tens of thousands of
 * texts per second.
 */
export class TokenTable {
  readonly header: TableHeader
  readonly #tokens: TextTokens
  readonly #scales: Float32Array
  readonly #values: Int8Array
  readonly #network: RequestNetwork | undefined

  constructor(header: TableHeader, vocabulary: readonly string[], scales: Float32Array, values: Int8Array) {
    this.header = header
    this.#tokens = new TextTokens(new Map(vocabulary.map((token, row) => [token, row])))
    this.#scales = scales
    this.#values = values
    const { dimensions, tokens, units = 0 } = header
    if (units > 0) {
      const rows = values.subarray(tokens * dimensions)
      this.#network = new RequestNetwork(rows, scales.subarray(tokens), dimensions)
    }
  }

  /** Parses the output of `tableBytes`; throws `config-invalid` for anything else. */
  static read(bytes: Uint8Array): TokenTable {
    const text = new TextDecoder()
    if (bytes.length < 16 || text.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw notATable()
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const headerEnd = 16 + view.getUint32(8, true)
    const vocabularyEnd = headerEnd + view.getUint32(12, true)
    if (vocabularyEnd > bytes.length) throw notATable()
    const header: TableHeader = JSON.parse(text.decode(bytes.subarray(16, headerEnd)))
    const vocabulary = text.decode(bytes.subarray(headerEnd, vocabularyEnd)).split('\n')
    const rows = header.tokens + 2 * (header.units ?? 0)
    const scalesStart = aligned(vocabularyEnd)
    const valuesStart = scalesStart + rows * Float32Array.BYTES_PER_ELEMENT
    const end = valuesStart + rows * header.dimensions
    if (vocabulary.length !== header.tokens || end > bytes.length) throw notATable()
    // Copied, since the bytes may be unaligned and floats must be aligned to four bytes.
    const scales = new Float32Array(rows)
    new Uint8Array(scales.buffer).set(bytes.subarray(scalesStart, valuesStart))
    const values = new Int8Array(bytes.buffer, bytes.byteOffset + valuesStart, rows * header.dimensions)
    return new TokenTable(header, vocabulary, scales, values)
  }

  /** Whether a word has a vector of its own. */
  knows(word: string): boolean {
    return this.#tokens.knows(word)
  }

  /** The vectors of requests: those of their texts, changed by the network if there is one. */
  embedRequests(texts: readonly string[]): readonly Float32Array[] {
    const vectors = texts.map((text) => this.embed(text))
    return this.#network?.changed(vectors) ?? vectors
  }

  embed(text: string): Float32Array {
    const { dimensions } = this.header
    const values = this.#values
    const sum = new Float32Array(dimensions)
    for (const token of this.#tokens.read(text, MAX_TOKENS)) {
      const scale = this.#scales[token] as number
      addRow(sum, values, token * dimensions, scale)
    }
    let square = 0
    for (let at = 0; at < dimensions; at++) square += (sum[at] as number) * (sum[at] as number)
    if (square === 0) return sum
    const scale = 1 / Math.sqrt(square)
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) * scale
    return sum
  }
}

/** Adds a row times its scale. Four values at a time: one at a time takes three times as long. */
function addRow(sum: Float32Array, values: Int8Array, row: number, scale: number): void {
  const end = sum.length
  let at = 0
  for (; at + 3 < end; at += 4) {
    sum[at] = (sum[at] as number) + scale * (values[row + at] as number)
    sum[at + 1] = (sum[at + 1] as number) + scale * (values[row + at + 1] as number)
    sum[at + 2] = (sum[at + 2] as number) + scale * (values[row + at + 2] as number)
    sum[at + 3] = (sum[at + 3] as number) + scale * (values[row + at + 3] as number)
  }
  for (; at < end; at++) sum[at] = (sum[at] as number) + scale * (values[row + at] as number)
}

/**
 * The bytes of a model file: header, vocabulary (one token per line), scales, rows. The rows of the network for requests,
 * if there is one, follow those of the tokens.
 */
export function tableBytes(
  name: string,
  vocabulary: readonly string[],
  tokenRows: Float32Array,
  networkRows: Float32Array = new Float32Array(0),
): Uint8Array {
  const dimensions = tokenRows.length / vocabulary.length
  const units = networkRows.length / dimensions / 2
  const rows = new Float32Array(tokenRows.length + networkRows.length)
  rows.set(tokenRows)
  rows.set(networkRows, tokenRows.length)
  const { values, scales } = byteRows(rows, dimensions)
  const encoder = new TextEncoder()
  const header: TableHeader = {
    name,
    dimensions,
    tokens: vocabulary.length,
    ...(units === 0 ? {} : { units }),
  }
  const headerBytes = encoder.encode(JSON.stringify(header))
  const vocabularyBytes = encoder.encode(vocabulary.join('\n'))
  const scalesStart = aligned(16 + headerBytes.length + vocabularyBytes.length)
  const valuesStart = scalesStart + scales.length * Float32Array.BYTES_PER_ELEMENT
  const bytes = new Uint8Array(valuesStart + values.length)
  const view = new DataView(bytes.buffer)
  bytes.set(encoder.encode(MAGIC), 0)
  view.setUint32(8, headerBytes.length, true)
  view.setUint32(12, vocabularyBytes.length, true)
  bytes.set(headerBytes, 16)
  bytes.set(vocabularyBytes, 16 + headerBytes.length)
  for (const [row, scale] of scales.entries())
    view.setFloat32(scalesStart + row * Float32Array.BYTES_PER_ELEMENT, scale, true)
  bytes.set(new Uint8Array(values.buffer), valuesStart)
  return bytes
}

/** Rows as bytes, with a scale for each. */
export function byteRows(
  rows: Float32Array,
  dimensions: number,
): { readonly values: Int8Array; readonly scales: Float32Array } {
  const values = new Int8Array(rows.length)
  const scales = new Float32Array(rows.length / dimensions)
  for (let row = 0; row < scales.length; row++) {
    const vector = rows.subarray(row * dimensions, (row + 1) * dimensions)
    const scale = vector.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-9) / 127
    scales[row] = scale
    for (let at = 0; at < dimensions; at++)
      values[row * dimensions + at] = Math.round((vector[at] as number) / scale)
  }
  return { values, scales }
}

function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT
}

function notATable(): ToolcribError {
  return new ToolcribError('config-invalid', 'not a token table; use the model file in the package')
}

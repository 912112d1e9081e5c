import { ToolcribError } from '../../errors.ts'
import { HASH_SEED, hashed } from '../../json.ts'

/** A vector in bytes, and the scale of a byte. */
export interface SavedVector {
  readonly values: Int8Array
  readonly scale: number
}

/** Identifies the text of a vector. */
export type TextKey = number

const OTHER_SEED = 0x9747b28c
const HEADER_BYTES = 4

interface Header {
  readonly embedder: string
  readonly dimensions: number
  readonly count: number
}

/** A 52-bit key: among a million texts, the chance of a collision is one in ten thousand. */
export function textKey(text: string): TextKey {
  let first = HASH_SEED
  let second = OTHER_SEED
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    first = hashed(first, code)
    second = hashed(second, code + at)
  }
  return (first >>> 0) * 2 ** 20 + (second >>> 12)
}

/** Serialises vectors for a file or a cache. */
export function packVectors(
  embedder: string,
  dimensions: number,
  vectors: ReadonlyMap<TextKey, SavedVector>,
): Uint8Array {
  const header: Header = { embedder, dimensions, count: vectors.size }
  const headerBytes = new TextEncoder().encode(JSON.stringify(header))
  const entryBytes = 8 + 4 + dimensions
  const bytes = new Uint8Array(HEADER_BYTES + headerBytes.length + vectors.size * entryBytes)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, headerBytes.length, true)
  bytes.set(headerBytes, HEADER_BYTES)
  let at = HEADER_BYTES + headerBytes.length
  for (const [key, { values, scale }] of vectors) {
    view.setFloat64(at, key, true)
    view.setFloat32(at + 8, scale, true)
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, dimensions), at + 12)
    at += entryBytes
  }
  return bytes
}

/**
 * Parses the output of `packVectors`. Returns undefined for vectors of another embedder. Throws `config-invalid` for
 * other bytes.
 */
export function unpackVectors(
  bytes: Uint8Array,
  embedder: string,
  dimensions: number,
): ReadonlyMap<TextKey, SavedVector> {
  const vectors = new Map<TextKey, SavedVector>()
  const { header, start } = readHeader(bytes)
  if (header.embedder !== embedder || header.dimensions !== dimensions) return vectors
  const entryBytes = 8 + 4 + dimensions
  if (start + header.count * entryBytes > bytes.length) throw notVectors()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let entry = 0; entry < header.count; entry++) {
    const at = start + entry * entryBytes
    const scale = view.getFloat32(at + 8, true)
    if (!(scale > 0 && scale < 1)) throw notVectors()
    const values = new Int8Array(bytes.buffer, bytes.byteOffset + at + 12, dimensions)
    vectors.set(view.getFloat64(at, true), { scale, values })
  }
  return vectors
}

/** How many vectors the output of `packVectors` has. Throws `config-invalid` for other bytes. */
export function countVectors(bytes: Uint8Array): number {
  return readHeader(bytes).header.count
}

function readHeader(bytes: Uint8Array): { header: Header; start: number } {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const start = HEADER_BYTES + view.getUint32(0, true)
    const header: Header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_BYTES, start)))
    if (Number.isInteger(header.count) && header.count >= 0) return { header, start }
  } catch (cause) {
    throw notVectors(cause)
  }
  throw notVectors()
}

function notVectors(cause?: unknown): ToolcribError {
  return new ToolcribError('config-invalid', 'not saved vectors; delete the file to have it created again', {
    cause,
  })
}

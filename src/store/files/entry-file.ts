import { crc32 } from 'node:zlib'
import { isRecord } from '../../json.ts'
import type { EncodedValue } from '../stored-value.ts'

/**
 * An entry as the content of a file: a line of JSON with the key, the type of the value and its checksum, and then the
 * value itself.
 */
export function encodeEntry(key: string, value: EncodedValue): Uint8Array {
  const body = typeof value === 'string' ? Buffer.from(value) : value
  const header = { key, type: typeof value === 'string' ? 'json' : 'bytes', crc32: crc32(body) }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body])
}

/** The value of an entry. Throws, with the reason, when the content is not what was written under this key. */
export function decodeEntry(key: string, content: Uint8Array): EncodedValue {
  const end = content.indexOf(LINE_END)
  if (end < 0) throw new Error('it is cut off')
  const header = parseHeader(Buffer.from(content.subarray(0, end)).toString())
  const body = content.subarray(end + 1)
  if (header.crc32 !== crc32(body)) throw new Error('its content does not match its checksum')
  if (header.key !== key) throw new Error(`it holds the key ${JSON.stringify(header.key)}`)
  return header.type === 'json' ? Buffer.from(body).toString() : body
}

const LINE_END = 10

function parseHeader(line: string): Record<string, unknown> {
  const header: unknown = JSON.parse(line)
  if (!isRecord(header)) throw new Error('it has no header')
  return header
}

import { CapabilityError } from '../capability.ts'

/** How far into a file a NUL byte is looked for: text has none, almost everything else has one early. */
const SNIFF_BYTES = 8_192

/** Whether bytes are something else than text. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFF_BYTES).includes(0)
}

/** A file's bytes as text; a byte that is no UTF-8 becomes a replacement character. */
export function readText(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes)) throw notText(path, bytes)
  return new TextDecoder().decode(bytes)
}

/** Like `readText`, for text that is going to be written back: refused unless nothing is lost on the way. */
export function readExactText(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes)) throw notText(path, bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CapabilityError('execution_failed', `"${path}" is not UTF-8; change it with a program`, {
      cause,
    })
  }
}

function notText(path: string, bytes: Uint8Array): CapabilityError {
  return new CapabilityError(
    'execution_failed',
    `"${path}" is a binary file of ${bytes.byteLength} bytes, not text; use a program that knows its format`,
  )
}

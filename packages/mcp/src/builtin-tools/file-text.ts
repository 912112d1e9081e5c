import { CapabilityError } from '@toolcrib/core'

/** How many bytes to check for a NUL: text contains none, and most binary formats contain one early. */
const SNIFF_BYTES = 8_192

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFF_BYTES).includes(0)
}

/** Decodes a file's bytes as text; invalid UTF-8 becomes replacement characters. */
export function readText(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes)) throw notText(path, bytes)
  return new TextDecoder().decode(bytes)
}

/** Like `readText`, for text that will be written back: throws unless decoding is lossless. */
export function readExactText(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes)) throw notText(path, bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CapabilityError(
      'execution_failed',
      `"${path}" is not valid UTF-8; edit it with a program that supports its encoding`,
      {
        cause,
      },
    )
  }
}

function notText(path: string, bytes: Uint8Array): CapabilityError {
  return new CapabilityError(
    'execution_failed',
    `"${path}" is a binary file of ${bytes.byteLength} bytes, not text; use a program that supports its format`,
  )
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Compresses and encrypts the image of a machine, whose memory may hold secrets that the script has long dropped. It can be
 * opened with the same key and the same `bound` text only.
 */
export async function sealImage(image: Uint8Array, key: Uint8Array, bound: string): Promise<Uint8Array> {
  const packed = await compress(image, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyFor(key, bound), iv).setAAD(Buffer.from(bound))
  const body = [cipher.update(packed), cipher.final()]
  return new Uint8Array(Buffer.concat([iv, cipher.getAuthTag(), ...body]))
}

/** Undefined for an image that was changed, or sealed with none of these keys, or for something else. */
export async function openImage(
  sealed: Uint8Array,
  keys: readonly Uint8Array[],
  bound: string,
): Promise<Uint8Array | undefined> {
  const bytes = Buffer.from(sealed)
  const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
  for (const key of keys) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', keyFor(key, bound), bytes.subarray(0, IV_BYTES))
      decipher.setAAD(Buffer.from(bound)).setAuthTag(tag)
      const packed = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
      return new Uint8Array(await decompress(packed))
    } catch {
      // Another key may have been in use when it was sealed.
    }
  }
  return undefined
}

function keyFor(key: Uint8Array, bound: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, bound, 'toolcrib script image', 32))
}

import type { CapabilityBackends } from '../capability.ts'
import { isRecord } from '../json.ts'
import type { ContentBlock, ToolResult } from '../tool.ts'

/** Takes secrets out of a text. */
export type Mask = (text: string) => string

/**
 * The mask for what any tool says: a secret may come out of a file or a command as well. None when no backend has one.
 * A mask that fails fails the call: what cannot be masked is not shown.
 */
export function maskFor(backends: CapabilityBackends): Mask | undefined {
  const masking = Object.values(backends).filter((backend) => typeof backend?.mask === 'function')
  if (masking.length === 0) return undefined
  return (text) => {
    let masked = text
    for (const backend of masking) {
      const next: unknown = backend?.mask?.(masked)
      if (typeof next !== 'string') throw new TypeError('the result cannot be shown: masking secrets failed')
      masked = next
    }
    return masked
  }
}

/** A result with every text in it masked, in `structured` and `content` too, however deep. */
export function maskResult(result: ToolResult, mask: Mask): ToolResult {
  if (!result.ok) {
    const { error, structured } = result
    return {
      ...result,
      error: mask(error),
      ...(structured === undefined ? {} : { structured: maskDeep(structured, mask) }),
    }
  }
  const { value, content, structured } = result
  return {
    ...result,
    value: mask(value),
    ...(content === undefined
      ? {}
      : { content: content.map((block) => maskDeep(block, mask) as ContentBlock) }),
    ...(structured === undefined ? {} : { structured: maskDeep(structured, mask) }),
  }
}

const MAX_DEPTH = 200

// What lies too deep to be looked through is left out: better missing than leaked.
function maskDeep(value: unknown, mask: Mask, depth = 0): unknown {
  if (typeof value === 'string') return mask(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return undefined
  if (Array.isArray(value)) return value.map((item) => maskDeep(item, mask, depth + 1))
  const entries = Object.entries(value).map(([key, nested]) => [mask(key), maskDeep(nested, mask, depth + 1)])
  return Object.fromEntries(entries)
}

const SECRET_NAME =
  /token|jwt|bearer|passw(?:or)?d|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|authorization|credential|cookie|^(?:auth|pwd|pin)$/i

/** Arguments fit to be shown: what a property's name calls a secret is replaced by `***`. */
export function maskNamedSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskNamedSecrets)
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([key, nested]) => [
    key,
    namesSecret(key, nested) ? '***' : maskNamedSecrets(nested),
  ])
  return Object.fromEntries(entries)
}

// A count of tokens is no secret.
function namesSecret(key: string, value: unknown): boolean {
  if (typeof value === 'boolean' || value === null) return false
  if (typeof value === 'number' && /tokens/i.test(key)) return false
  return SECRET_NAME.test(key)
}

import type { CapabilityBackends } from '../capability.ts'
import type { ContentBlock, ToolResult } from '../tool.ts'
import { mapTexts } from './map-texts.ts'

/** Removes secrets from a text. */
export type Mask = (text: string) => string

/**
 * The mask for every tool's output, since a secret may also come from a file or a command. Undefined if no backend
 * has one. If masking fails, the call fails: output that cannot be masked is not shown.
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

/** Masks every text in a result: its code, and `structured`, `content` and `meta` at any depth. */
export function maskResult(result: ToolResult, mask: Mask): ToolResult {
  const copy = copyResult(result, mask)
  if (copy.ok) copy.value = mask(copy.value)
  else {
    copy.error = mask(copy.error)
    copy.code = mask(copy.code)
  }
  if (result.raw !== undefined) copy.raw = result.raw
  return copy
}

/** Deep-copies a result, without a server's raw answer, so that the receiver may change it. */
export function copyResult(result: ToolResult, change: Mask = (text) => text): ToolResult {
  const copy: ToolResult = { ...result }
  delete copy.raw
  if (copy.structured !== undefined) copy.structured = mapTexts(copy.structured, change)
  if (copy.ok && copy.content !== undefined) {
    copy.content = mapTexts(copy.content, change) as ContentBlock[]
  }
  if (copy.meta !== undefined) copy.meta = mapTexts(copy.meta, change) as Record<string, unknown>
  return copy
}

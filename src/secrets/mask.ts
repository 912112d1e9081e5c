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
  return copy
}

/** Deep-copies a result, so that the receiver may change it. */
export function copyResult(result: ToolResult, change: Mask = (text) => text): ToolResult {
  const copy = { ...result }
  if (copy.structured !== undefined) copy.structured = mapTexts(copy.structured, change)
  if (copy.ok && copy.content !== undefined) {
    copy.content = mapTexts(copy.content, change) as ContentBlock[]
  }
  if (copy.meta !== undefined) copy.meta = mapTexts(copy.meta, change) as Record<string, unknown>
  return copy
}

/** The configured values of a server, by name. */
export interface ConfiguredValues {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly oauth?: Readonly<Record<string, string>> | undefined
}

/** Shorter values (`1`, `true`, `8080`) are not secrets and occur in any text. */
const MIN_CHARACTERS = 6

/**
 * Returns a function that removes the configured values of a server's variables, headers and OAuth client from a
 * text. Servers often print them when they fail, and their output is shown, logged and read by models.
 */
export function concealerOf({ env, headers, oauth }: ConfiguredValues): (text: string) => string {
  const values = [env, headers, oauth].flatMap((map) => Object.entries(map ?? {}).flatMap(secretParts))
  const concealed = values
    .filter(({ part }) => part.length >= MIN_CHARACTERS)
    // Longest first, so that replacing a part of one value cannot leave the rest of another.
    .sort((a, b) => b.part.length - a.part.length)
  return (text) => concealed.reduce((rest, { name, part }) => rest.replaceAll(part, () => `(${name})`), text)
}

/** A value as a whole, line by line, and without its scheme: `Bearer`, `Basic`. */
function secretParts([name, value]: readonly [string, string]): { name: string; part: string }[] {
  const lines = value.split('\n').map((line) => line.trim())
  const parts = new Set([value, ...lines, value.replace(/^\w+\s+/, '')])
  return [...parts].map((part) => ({ name, part }))
}

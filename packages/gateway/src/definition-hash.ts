import { createHash } from 'node:crypto'
import type { Tool } from '@toolcrib/core'
import { canonicalJson } from '@toolcrib/core/internal'

const hashes = new WeakMap<Tool, string>()

/**
 * SHA-256 of everything that a registered tool says about itself, as in grants and in the record of calls.
 *
 * @example
 * ```ts
 * import { defineTool } from 'toolcrib'
 * import { definitionHash } from 'toolcrib/gateway'
 *
 * const tool = defineTool({ name: 'now', description: 'The time.', inputSchema: {}, execute: () => 'noon' })
 * console.log(definitionHash(tool).length) // 64
 * ```
 */
export function definitionHash(tool: Tool): string {
  const known = hashes.get(tool)
  if (known !== undefined) return known
  const { execute: _, reduce: __, ...definition } = tool
  const hash = sha256(canonicalJson(definition))
  hashes.set(tool, hash)
  return hash
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

import { isRecord } from '../../json.ts'
import type { ServerTool } from '../server/server-tool.ts'

/** One text of a definition, and its place. */
export interface PlacedText {
  readonly place: string
  readonly text: string
}

const MAX_DEPTH = 40
const MAX_TEXTS = 20_000

/** The texts of a definition, as far as it was read. */
export interface ToolTexts {
  readonly texts: readonly PlacedText[]
  /** Where the definition was too deep or too long and was not read further. */
  readonly unread: string | undefined
}

/**
 * Returns every text of a tool's definition that a model or a person may read, including parameter names and
 * everything in its schemas.
 */
export function toolTexts(tool: ServerTool): ToolTexts {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  const found: Gathered = { texts: [], unread: undefined }
  gather({ name, title, description, inputSchema, outputSchema, annotations }, '', 0, found)
  return found
}

interface Gathered {
  readonly texts: PlacedText[]
  unread: string | undefined
}

function gather(value: unknown, place: string, depth: number, found: Gathered): void {
  const { texts } = found
  if (depth > MAX_DEPTH || texts.length >= MAX_TEXTS) {
    found.unread ??= place
    return
  }
  if (typeof value === 'string') {
    texts.push({ place, text: value })
    return
  }
  const entries = Array.isArray(value) ? [...value.entries()] : isRecord(value) ? Object.entries(value) : []
  for (const [key, inner] of entries) {
    const within = place === '' ? String(key) : `${place}.${key}`
    // Below the fields of the definition, keys are the server's own words.
    if (typeof key === 'string' && depth > 0 && /[^\w$-]/.test(key)) texts.push({ place: within, text: key })
    gather(inner, within, depth + 1, found)
  }
}

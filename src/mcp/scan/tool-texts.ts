import { isRecord } from '../../json.ts'
import type { ServerTool } from '../server-tool.ts'

/** One text of a definition and where it stands. */
export interface PlacedText {
  readonly place: string
  readonly text: string
}

const MAX_DEPTH = 40
const MAX_TEXTS = 20_000

/** Every text of a tool's definition that a model or a person may read: names of parameters and all in its schemas. */
export function toolTexts(tool: ServerTool): PlacedText[] {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  const texts: PlacedText[] = []
  gather({ name, title, description, inputSchema, outputSchema, annotations }, '', 0, texts)
  return texts
}

function gather(value: unknown, place: string, depth: number, texts: PlacedText[]): void {
  if (depth > MAX_DEPTH || texts.length >= MAX_TEXTS) return
  if (typeof value === 'string') {
    texts.push({ place, text: value })
    return
  }
  const entries = Array.isArray(value) ? [...value.entries()] : isRecord(value) ? Object.entries(value) : []
  for (const [key, inner] of entries) {
    const within = place === '' ? String(key) : `${place}.${key}`
    // Keys are the server's own words below the fields of the definition.
    if (typeof key === 'string' && depth > 0 && /[^\w$-]/.test(key)) texts.push({ place: within, text: key })
    gather(inner, within, depth + 1, texts)
  }
}

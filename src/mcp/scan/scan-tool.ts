import type { Finding, Trace } from '../../finding.ts'
import { isRecord } from '../../json.ts'
import { isPlainText } from '../../names.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { hiddenCharacters } from './hidden-characters.ts'
import { findInstructions } from './instructions.ts'

/** The maximum number of findings reported per tool, the worst first. */
const MAX_FINDINGS = 10

/**
 * Finds what is suspicious in one tool's definition, wherever text may occur. `known` caches the findings of each
 * text, because the tools of one server share many.
 */
export function scanTool(
  server: string,
  tool: ServerTool,
  { texts, unread } = toolTexts(tool),
  known = new Map<string, readonly Trace[]>(),
): Finding[] {
  const findings = texts.flatMap(({ place, text }) => {
    const traces = known.get(text) ?? tracesIn(text)
    known.set(text, traces)
    return traces.map((trace): Finding => ({ ...trace, server, tool: tool.name, place }))
  })
  findings.push(...acrossFields(texts, findings).map((trace) => ({ ...trace, server, tool: tool.name })))
  if (unread !== undefined) {
    const message = 'is too deep or too long to be scanned completely'
    const trace = { kind: 'concealment', severity: 'medium', message, excerpt: '' } as const
    findings.push({ ...trace, server, tool: tool.name, place: unread.slice(0, 200) })
  }
  return findings.sort((a, b) => RANK[b.severity] - RANK[a.severity]).slice(0, MAX_FINDINGS)
}

/** What is suspicious in one text. Most texts are plain and hide nothing. */
function tracesIn(text: string): Trace[] {
  const hidden = isPlainText(text) ? [] : hiddenCharacters(text)
  return [...hidden, ...findInstructions(text)]
}

/** How much of either end of a text may continue in another. */
const MAX_END = 200
const MAX_JOINED = 8_000

/** Finds instructions that are split across fields. */
function acrossFields(
  texts: readonly PlacedText[],
  known: readonly Pick<Finding, 'kind'>[],
): (Trace & { place: string })[] {
  const joined = joinedFields(texts)
  if (joined === '') return []
  const kinds = new Set(known.map(({ kind }) => kind))
  return findInstructions(joined)
    .filter(({ kind }) => !kinds.has(kind) && kind !== 'concealment' && kind !== 'fake-markup')
    .map((trace) => ({ ...trace, message: `${trace.message}, across several fields`, place: 'definition' }))
}

/**
 * The texts in sequence, as a model reads them, where one continues in the next. A text that ends in a full stop is
 * complete, so only the others are continued.
 */
export function joinedFields(texts: readonly PlacedText[]): string {
  const parts = texts.filter(({ place, text }) => /\s/.test(text) && place !== 'name').map(({ text }) => text)
  let joined = ''
  for (const [at, part] of parts.entries()) {
    const isOpen = at + 1 < parts.length && !isEnded(part)
    const isGoingOn = at > 0 && !isEnded(parts[at - 1] ?? '')
    if (isGoingOn) joined += ` ${part.length > MAX_END ? `${part.slice(0, MAX_END)}\n\n` : part}`
    if (isOpen && (!isGoingOn || part.length > MAX_END)) joined += `\n\n${part.slice(-MAX_END)}`
    if (joined.length > MAX_JOINED) break
  }
  return joined
}

function isEnded(text: string): boolean {
  return /[.!?。！？:;)]\s*$/.test(text.slice(-20))
}

const RANK = { low: 0, medium: 1, high: 2 } as const

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

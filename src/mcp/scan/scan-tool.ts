import type { Finding, Trace } from '../../finding.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { hiddenCharacters } from './hidden-characters.ts'
import { findInstructions } from './instructions.ts'
import { type PlacedText, toolTexts } from './tool-texts.ts'

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
    const traces = known.get(text) ?? [...hiddenCharacters(text), ...findInstructions(text)]
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

/** How much of either end of a text may continue in another. */
const MAX_END = 200
const MAX_JOINED = 8_000

/**
 * Finds instructions that are split across fields, reading the texts in sequence as a model does. A text that ends in
 * a full stop is complete, so only the others are continued.
 */
function acrossFields(
  texts: readonly PlacedText[],
  known: readonly Pick<Finding, 'kind'>[],
): (Trace & { place: string })[] {
  const parts = texts.filter(({ place, text }) => /\s/.test(text) && place !== 'name').map(({ text }) => text)
  let joined = ''
  for (const [at, part] of parts.entries()) {
    const isOpen = at + 1 < parts.length && !isEnded(part)
    const isGoingOn = at > 0 && !isEnded(parts[at - 1] ?? '')
    if (isGoingOn) joined += ` ${part.length > MAX_END ? `${part.slice(0, MAX_END)}\n\n` : part}`
    if (isOpen && (!isGoingOn || part.length > MAX_END)) joined += `\n\n${part.slice(-MAX_END)}`
    if (joined.length > MAX_JOINED) break
  }
  if (joined === '') return []
  const kinds = new Set(known.map(({ kind }) => kind))
  return findInstructions(joined)
    .filter(({ kind }) => !kinds.has(kind) && kind !== 'concealment' && kind !== 'fake-markup')
    .map((trace) => ({ ...trace, message: `${trace.message}, across several fields`, place: 'definition' }))
}

function isEnded(text: string): boolean {
  return /[.!?。！？:;)]\s*$/.test(text.slice(-20))
}

const RANK = { low: 0, medium: 1, high: 2 } as const

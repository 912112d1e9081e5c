import type { Finding, Trace } from '../../finding.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { hiddenCharacters, MAX_CHARACTERS } from './hidden-characters.ts'
import { findInstructions } from './instructions.ts'
import { type PlacedText, toolTexts } from './tool-texts.ts'

/** Most findings one tool may bring; the worst is told well before. */
const MAX_FINDINGS = 10

/** What looks suspicious in one tool's definition, wherever in it text may stand. */
export function scanTool(server: string, tool: ServerTool): Finding[] {
  const { texts, unread } = toolTexts(tool)
  const findings = texts.flatMap(({ place, text }) =>
    [...hiddenCharacters(text), ...findInstructions(text)].map(
      (trace): Finding => ({ ...trace, server, tool: tool.name, place }),
    ),
  )
  findings.push(...acrossFields(texts, findings).map((trace) => ({ ...trace, server, tool: tool.name })))
  if (unread !== undefined) {
    const message = 'is too deep or too long to be looked at as a whole'
    const trace = { kind: 'concealment', severity: 'medium', message, excerpt: '' } as const
    findings.push({ ...trace, server, tool: tool.name, place: unread.slice(0, 200) })
  }
  return findings.sort((a, b) => RANK[b.severity] - RANK[a.severity]).slice(0, MAX_FINDINGS)
}

/** Longer texts stand by themselves, and only their ends may go on in the next. */
const MAX_PART = 1_500

/** What the texts say when they are read one after another, as a model does, and none of them says by itself. */
function acrossFields(
  texts: readonly PlacedText[],
  known: readonly Pick<Finding, 'kind'>[],
): (Trace & { place: string })[] {
  const parts = texts
    .filter(({ place, text }) => /\s/.test(text) && place !== 'name')
    .map(({ text }) =>
      text.length > MAX_PART ? `${text.slice(0, MAX_PART)}\n\n${text.slice(-MAX_PART)}` : text,
    )
  if (parts.length < 2) return []
  const kinds = new Set(known.map(({ kind }) => kind))
  // A text that ends in a full stop says all it has to say.
  const joined = parts.map((part) => (/[.!?。！？:;)]\s*$/.test(part) ? `${part}\n\n` : `${part} `)).join('')
  return findInstructions(joined.slice(0, MAX_CHARACTERS))
    .filter(({ kind }) => !kinds.has(kind) && kind !== 'concealment' && kind !== 'fake-markup')
    .map((trace) => ({ ...trace, message: `${trace.message}, over several fields`, place: 'definition' }))
}

const RANK = { low: 0, medium: 1, high: 2 } as const

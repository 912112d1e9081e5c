import type { Finding } from '../../finding.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { hiddenCharacters } from './hidden-characters.ts'
import { findInstructions } from './instructions.ts'
import { toolTexts } from './tool-texts.ts'

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
  if (unread !== undefined) {
    const message = 'is too deep or too long to be looked at as a whole'
    const trace = { kind: 'concealment', severity: 'medium', message, excerpt: '' } as const
    findings.push({ ...trace, server, tool: tool.name, place: unread.slice(0, 200) })
  }
  return findings.sort((a, b) => RANK[b.severity] - RANK[a.severity]).slice(0, MAX_FINDINGS)
}

const RANK = { low: 0, medium: 1, high: 2 } as const

import type { SessionStep } from '../../../record/session-record.ts'

/** A step as a line of the timeline. */
export interface TimelineLine {
  readonly step: SessionStep
  /** Where it is among all steps. */
  readonly index: number
  /** Whether a search found nothing. */
  readonly isMiss: boolean
}

const SEARCH_TOOLS = ['tool_search', 'tool_search_regex', 'ToolSearch']

/** Steps as lines: a search, its miss and the call that made it are one line. */
export function foldSteps(steps: readonly SessionStep[]): readonly TimelineLine[] {
  const lines: TimelineLine[] = []
  for (const [index, step] of steps.entries()) {
    const at = lines.findLastIndex(
      (line) => line.step.kind === 'search' && line.step.turn === step.turn && belongs(step, line.step),
    )
    const search = lines[at]
    if (!search) lines.push({ step, index, isMiss: false })
    else if (step.kind === 'miss') lines[at] = { ...search, isMiss: true }
    else lines[at] = { ...search, step: { ...search.step, durationMs: step.durationMs ?? 0 } }
  }
  return lines
}

function belongs(step: SessionStep, search: SessionStep): boolean {
  if (step.kind === 'miss') return step.text === search.text
  const isSearchCall = step.kind === 'call' && SEARCH_TOOLS.includes(step.names?.[0] ?? '')
  return isSearchCall && step.ok !== false && search.durationMs === undefined
}

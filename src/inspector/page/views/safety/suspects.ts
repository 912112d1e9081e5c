import type { Output } from '../../../api/routes.ts'
import { sentence } from '../../format.ts'

export type Finding = Output<'safety'>['findings'][number]

/** A tool with everything that the scanner found in it. */
export interface Suspect {
  readonly server: string
  readonly tool: string
  /** The severity of its worst finding. */
  readonly severity: Finding['severity']
  /** The worst first. */
  readonly findings: readonly Finding[]
}

const ORDER: readonly Finding['severity'][] = ['high', 'medium', 'low']

/** Findings by tool: the worst tool first, then the one with the most of them. */
export function bySuspect(findings: readonly Finding[]): readonly Suspect[] {
  const byTool = new Map<string, Finding[]>()
  for (const finding of findings) {
    const key = keyOf(finding)
    const own = byTool.get(key)
    if (own) own.push(finding)
    else byTool.set(key, [finding])
  }
  return [...byTool.values()].map(toSuspect).sort(bySeverity)
}

/** The tool of a change among those. */
export function suspectOf(
  suspects: readonly Suspect[],
  tool: { readonly server: string; readonly tool: string },
): Suspect | undefined {
  return suspects.find((each) => keyOf(each) === keyOf(tool))
}

/** What was found, each thing once. */
export function messagesOf(findings: readonly Finding[]): string {
  return [...new Set(findings.map(({ message }) => `${sentence(message)}.`))].join(' ')
}

function toSuspect(own: readonly Finding[]): Suspect {
  const findings = [...own].sort((first, second) => rankOf(first) - rankOf(second))
  const { server = '', tool = '', severity = 'low' } = findings[0] ?? {}
  return { server, tool, severity, findings }
}

function bySeverity(first: Suspect, second: Suspect): number {
  return rankOf(first) - rankOf(second) || second.findings.length - first.findings.length
}

function rankOf({ severity }: { readonly severity: Finding['severity'] }): number {
  return ORDER.indexOf(severity)
}

function keyOf({ server, tool }: { readonly server: string; readonly tool: string }): string {
  return `${server} ${tool}`
}

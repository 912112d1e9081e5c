import type { Output } from '../../../api/routes.ts'
import type { NamedChange } from '../../../api/safety.ts'
import { sentence } from '../../format.ts'

export type Finding = Output<'safety'>['findings'][number]

/** A tool, or something else that a server offers, with everything that the scanner found in it. */
export interface Suspect {
  readonly server: string
  readonly tool: string
  /** Set when it is not a tool. */
  readonly item: Finding['item']
  /** The severity of its worst finding. */
  readonly severity: Finding['severity']
  /** The worst first. */
  readonly findings: readonly Finding[]
}

const ORDER: readonly Finding['severity'][] = ['high', 'medium', 'low']

/** Suspects of one server in which the same was found, as one: the first, and the tools that it stands for. */
export interface Suspicion extends Suspect {
  readonly tools: readonly string[]
}

/** More tools than this with the same findings are one suspicion, even if their words differ. */
const ALIKE = 3

/** Joins what repeats: the same words in several tools, or the same warning in many tools of a server. */
export function joinRepeated(suspects: readonly Suspect[]): readonly Suspicion[] {
  const byWarning = groupBy(suspects, warningOf)
  const isMany = (suspect: Suspect) => (byWarning.get(warningOf(suspect))?.length ?? 0) > ALIKE
  const keyOfAll = (suspect: Suspect) =>
    isMany(suspect) ? warningOf(suspect) : JSON.stringify([warningOf(suspect), wordsOf(suspect)])
  return [...groupBy(suspects, keyOfAll).values()].flatMap((own) => {
    const [first] = own
    if (!first) return []
    const findings = own.flatMap((suspect) => suspect.findings)
    return [{ ...first, findings, tools: own.map(({ tool }) => tool) }]
  })
}

function warningOf({ server, item, severity, findings }: Suspect): string {
  return JSON.stringify([server, item, severity, messagesOf(findings)])
}

function wordsOf({ findings }: Suspect): readonly string[] {
  return findings.map(({ excerpt }) => excerpt).sort()
}

/** Findings by tool: the worst tool first, then the one with the most of them. */
export function bySuspect(findings: readonly Finding[]): readonly Suspect[] {
  return [...groupBy(findings, keyOf).values()].map(toSuspect).sort(bySeverity)
}

/** A tool, or something else that a server offers. */
interface Subject {
  readonly server: string
  readonly tool: string
  readonly item?: Finding['item'] | undefined
}

/** What a change is about, among those. */
export function suspectOf(suspects: readonly Suspect[], subject: Subject | undefined): Suspect | undefined {
  return subject && suspects.find((each) => keyOf(each) === keyOf(subject))
}

/** What a change is about; undefined for a server itself. */
export function subjectOf(change: NamedChange): Subject | undefined {
  if ('tool' in change) return change
  if (!('item' in change)) return undefined
  const { server, list, item } = change
  return { server, tool: list === 'instructions' ? list : item, item: list }
}

/** What was found, each thing once. */
export function messagesOf(findings: readonly Finding[]): string {
  return [...new Set(findings.map(({ message }) => `${sentence(message)}.`))].join(' ')
}

function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const own = groups.get(key)
    if (own) own.push(item)
    else groups.set(key, [item])
  }
  return groups
}

function toSuspect(own: readonly Finding[]): Suspect {
  const findings = [...own].sort((first, second) => rankOf(first) - rankOf(second))
  const { server = '', tool = '', item, severity = 'low' } = findings[0] ?? {}
  return { server, tool, item, severity, findings }
}

/** The worst first; nothing suspicious last. */
export function byWorst(first: Suspect | undefined, second: Suspect | undefined): number {
  return (first ? rankOf(first) : ORDER.length) - (second ? rankOf(second) : ORDER.length)
}

function bySeverity(first: Suspect, second: Suspect): number {
  return rankOf(first) - rankOf(second) || second.findings.length - first.findings.length
}

function rankOf({ severity }: { readonly severity: Finding['severity'] }): number {
  return ORDER.indexOf(severity)
}

function keyOf({ server, tool, item }: Subject): string {
  return JSON.stringify([server, item ?? '', tool])
}

import { changeDigest, type FieldChange, type Finding, type LockChange } from '@toolcrib/mcp'
import pc from 'picocolors'
import type { Terminal } from '../terminal/terminal.ts'
import { exact, plain, plural, toolName } from '../terminal/text.ts'
import { type AlikeServers, isAlike } from './alike-servers.ts'

/** Prints what is new, removed and changed, field by field, with the scanner's findings. */
export function showChanges(
  terminal: Terminal,
  changes: readonly LockChange[],
  findings: readonly Finding[] = [],
): void {
  for (const change of changes) {
    terminal.say(titleOf(change))
    for (const field of fieldsOf(change)) showField(terminal, field)
    for (const finding of findingsOf([change], findings)) showFinding(terminal, finding)
  }
}

/** The findings about what is new and changed. */
export function findingsOf(changes: readonly LockChange[], findings: readonly Finding[]): Finding[] {
  return findings.filter((finding) => changes.some((change) => isAbout(finding, change)))
}

function isAbout({ server, tool, item }: Finding, change: LockChange): boolean {
  if (change.server !== server || change.kind.endsWith('-removed')) return false
  if ('tool' in change) return item === undefined && change.tool === tool
  if (!('item' in change)) return false
  return change.list === item && (item === 'instructions' || change.item === tool)
}

/** `weather.get_rain`, `weather prompt plan`. */
export function subjectOf({ server, tool, item }: Finding): string {
  if (item === undefined) return `${server}.${tool}`
  return item === 'instructions' ? `${server} ${item}` : `${server} ${ITEMS[item]} ${tool}`
}

const ITEMS = { prompts: 'prompt', resources: 'resource', resourceTemplates: 'template' } as const

const COLOURS = { high: pc.red, medium: pc.yellow, low: pc.dim } as const

/** Prints one finding, under the change or the tool it is about. */
export function showFinding(terminal: Terminal, finding: Finding): void {
  const { severity, place, message, excerpt } = finding
  const where = pc.dim(`(${plain(subjectOf(finding))}, ${plain(place)})`)
  terminal.say(`    ${COLOURS[severity](`! ${severity}`)} ${plain(message)} ${where}`)
  if (excerpt !== '') terminal.say(pc.dim(`      “${plain(excerpt)}”`))
}

/** Prints findings; servers with equal tools share one line instead of one per tool. */
export function showFindings(
  terminal: Terminal,
  findings: readonly Finding[],
  alike: readonly AlikeServers[],
): void {
  for (const finding of findings) if (!isAlike(finding)) showFinding(terminal, finding)
  for (const each of alike) terminal.say(`    ${COLOURS.low('! low')} ${describeAlike(each)}`)
}

/** `a and b have 3 tools in common, word for word`. */
export function describeAlike({ servers, tools }: AlikeServers): string {
  const names = servers.map((server) => pc.bold(plain(server)))
  const listed = [names.slice(0, -1).join(', '), ...names.slice(-1)].join(' and ')
  return `${listed} have ${plural(tools, 'tool')} in common, word for word`
}

/** Changes with their digests, for programs. */
export function withDigests(changes: readonly LockChange[]): (LockChange & { readonly digest: string })[] {
  return changes.map((change) => ({ ...change, digest: changeDigest(change) }))
}

/** `2 changed tools, 1 new prompt`. */
export function summarise(changes: readonly LockChange[]): string {
  const counts = new Map<string, number>()
  for (const { kind } of changes) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts]
    .map(([kind, count]) => {
      const [what = '', how = ''] = kind.split('-')
      const words = `${WORDS[how] ?? how} ${what}`
      return what === 'instructions' ? `${count} ${words}` : plural(count, words)
    })
    .join(', ')
}

const WORDS: Readonly<Record<string, string>> = { added: 'new', removed: 'missing' }

function titleOf(change: LockChange): string {
  const own = 'tool' in change ? toolName(change.name, change.server) : undefined
  const spelled = own ?? ('item' in change ? change.name : change.server)
  const name = pc.bold(exact(spelled)) + pc.dim(`@${changeDigest(change)}`)
  const what = change.kind.split('-')[0]
  switch (change.kind) {
    case 'server-added':
      return `${pc.green('+')} server ${name} ${pc.dim('is new: not started until it is approved')}`
    case 'server-removed':
      return `${pc.red('-')} server ${name} ${pc.dim('is no longer configured')}`
    case 'command-changed':
      return `${pc.yellow('~')} server ${name} ${pc.dim('has a different command: not started until it is approved')}`
  }
  if (change.kind.endsWith('-added')) return `${pc.green('+')} ${what} ${name} ${pc.dim('is new')}`
  if (change.kind.endsWith('-removed'))
    return `${pc.red('-')} ${what} ${name} ${pc.dim('is no longer listed')}`
  return `${pc.yellow('~')} ${what} ${name}`
}

/** The whole definition of what is new; the parameters of a tool are listed one by one. */
function fieldsOf(change: LockChange): readonly FieldChange[] {
  if ('fields' in change) return change.fields
  if (!('definition' in change)) return []
  const { inputSchema, ...rest } = change.definition
  const { properties, ...schema }: Readonly<Record<string, unknown>> = { ...Object(inputSchema) }
  const added = (path: string, fields: unknown) =>
    Object.entries(Object(fields)).map(([key, after]): FieldChange => ({ path: `${path}${key}`, after }))
  return [
    ...added('', rest),
    ...added('inputSchema.', schema),
    ...added('inputSchema.properties.', properties),
  ]
}

function showField(terminal: Terminal, { path, before, after }: FieldChange): void {
  terminal.say(`    ${pc.cyan(exact(path))}`)
  const [old, now] = part(write(before), write(after))
  if (before !== undefined) terminal.say(pc.red(`      - ${old}`))
  if (after !== undefined) terminal.say(pc.green(`      + ${now}`))
}

/** Values as JSON; text exactly, with hidden characters made visible. */
function write(value: unknown): string {
  if (value === undefined) return ''
  return exact(typeof value === 'string' ? value : JSON.stringify(value))
}

const CONTEXT = 40
const WHOLE = 160

/** Shortens two long texts to where they differ, with some context. */
function part(before: string, after: string): [string, string] {
  if (before.length <= WHOLE && after.length <= WHOLE) return [before, after]
  let start = 0
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++
  const from = Math.max(0, start - CONTEXT)
  const rest = Math.max(0, end - CONTEXT)
  const excerpt = (text: string) =>
    `${from > 0 ? '…' : ''}${text.slice(from, text.length - rest)}${rest > 0 ? '…' : ''}`
  return [excerpt(before), excerpt(after)]
}

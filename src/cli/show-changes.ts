import pc from 'picocolors'
import type { FieldChange, LockChange } from 'toolcrib/mcp'
import { exact, plural, say } from './terminal.ts'

/** Changes for a terminal: what is new, gone or different, field by field. */
export function showChanges(changes: readonly LockChange[]): void {
  for (const change of changes) {
    say(titleOf(change))
    if ('fields' in change) for (const field of change.fields) showField(field)
  }
}

/** `2 changed tools, 1 new server`. */
export function summarise(changes: readonly LockChange[]): string {
  const counts = new Map<string, number>()
  for (const { kind } of changes) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts]
    .map(([kind, count]) => {
      const [what = '', how = ''] = kind.split('-')
      return plural(count, `${WORDS[how] ?? how} ${what}`)
    })
    .join(', ')
}

const WORDS: Readonly<Record<string, string>> = { added: 'new', removed: 'missing' }

function titleOf(change: LockChange): string {
  const name = pc.bold(exact('tool' in change ? change.name : change.server))
  switch (change.kind) {
    case 'server-added':
      return `${pc.green('+')} server ${name} ${pc.dim('is new: not started before it is approved')}`
    case 'server-removed':
      return `${pc.red('-')} server ${name} ${pc.dim('is no longer configured')}`
    case 'command-changed':
      return `${pc.yellow('~')} server ${name} ${pc.dim('has another command: not started before it is approved')}`
    case 'tool-added':
      return `${pc.green('+')} tool ${name} ${pc.dim('is new')}`
    case 'tool-removed':
      return `${pc.red('-')} tool ${name} ${pc.dim('is no longer listed')}`
    case 'tool-changed':
      return `${pc.yellow('~')} tool ${name}`
  }
}

function showField({ path, before, after }: FieldChange): void {
  say(`    ${pc.cyan(exact(path))}`)
  const [old, now] = part(write(before), write(after))
  if (before !== undefined) say(pc.red(`      - ${old}`))
  if (after !== undefined) say(pc.green(`      + ${now}`))
}

/** Values as JSON writes them; texts to the letter, with what is hidden in them made visible. */
function write(value: unknown): string {
  if (value === undefined) return ''
  return exact(typeof value === 'string' ? value : JSON.stringify(value))
}

const CONTEXT = 40
const WHOLE = 160

/** Of two long texts only where they differ, with a little around it. */
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

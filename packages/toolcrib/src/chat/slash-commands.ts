import { type Session, ToolcribError } from '@toolcrib/core'
import type { LedgerTotals } from '@toolcrib/core/agent'
import pc from 'picocolors'
import { oneLine } from './printable.ts'

/** What the commands of a chat can read and change. */
export interface ChatView {
  readonly session: Session
  totals(): LedgerTotals
  /** Drops the messages; the tools that were found stay active. */
  forget(): void
}

interface SlashCommand {
  readonly usage: string
  readonly summary: string
  run(view: ChatView, argument: string): string | Promise<string>
}

const COMMANDS: Readonly<Record<string, SlashCommand>> = {
  context: {
    usage: '/context',
    summary: 'which tools are active, and what they cost per turn',
    run: ({ session }) => session.context(),
  },
  tools: {
    usage: '/tools',
    summary: 'the tools that the model sees, and those it has checked out',
    run: ({ session }) => listTools(session),
  },
  search: {
    usage: '/search <words>',
    summary: 'find tools as the model would',
    run: ({ session }, words) => search(session, words),
  },
  usage: {
    usage: '/usage',
    summary: 'tokens and cost so far',
    run: (view) => describeUsage(view.totals()),
  },
  clear: {
    usage: '/clear',
    summary: 'start a new conversation; active tools stay active',
    run: (view) => {
      view.forget()
      return 'Started a new conversation. Active tools stay active.'
    },
  },
  help: { usage: '/help', summary: 'this list', run: () => help() },
}

/** Runs a line that starts with a slash, and returns the text to print. */
export async function runSlashCommand(line: string, view: ChatView): Promise<string> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line.trim()) ?? []
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!command) return `Unknown command /${oneLine(name)}; see /help`
  try {
    return await command.run(view, argument.trim())
  } catch (error) {
    if (error instanceof ToolcribError) return error.message
    throw error
  }
}

function listTools(session: Session): string {
  const shown = session.surface().tools
  const onSurface = new Set(shown.map(({ name }) => name))
  const active = session.toJSON().activations.filter(({ name }) => !onSurface.has(name))
  const lines = [
    ...shown.map(
      ({ name, description }) => `${pc.green(oneLine(name))}  ${pc.dim(oneLine(description, 80))}`,
    ),
    ...active.map(({ name }) => `${pc.green(oneLine(name))}  ${pc.dim('(checked out)')}`),
  ]
  const waiting = session.deferred().length
  return [...lines, `${lines.length} tools, ${waiting} more available by search`].join('\n')
}

async function search(session: Session, words: string): Promise<string> {
  if (words === '') return 'Usage: /search <words>'
  const { matches, total, unmatchedTerms = [], advice = '' } = await session.search(words, { limit: 10 })
  const unmatched = unmatchedTerms.length > 0 ? `No tool mentions: ${unmatchedTerms.join(', ')}` : ''
  // The advice says the same, for models.
  if (matches.length === 0) return ['Nothing matches.', unmatched].filter(Boolean).join(' ')
  const lines = matches.map(
    ({ name, score, description, reasons }) =>
      `${score.toFixed(2).padStart(6)}  ${pc.green(oneLine(name))}  ${oneLine(description, 70)}\n        ${pc.dim(oneLine(reasons.join('; ')))}`,
  )
  return [oneLine(advice, 400), ...lines, `${matches.length} of ${total}`, advice === '' ? unmatched : '']
    .filter(Boolean)
    .join('\n')
}

function describeUsage(totals: LedgerTotals): string {
  const count = (tokens: number) => tokens.toLocaleString('en-US')
  const input = totals.inputTokens + totals.cachedInputTokens + totals.cacheWriteTokens
  const written =
    totals.cacheWriteTokens > 0 ? `, ${count(totals.cacheWriteTokens)} written to the cache` : ''
  const lines = [
    `Requests: ${totals.requests}`,
    `Input: ${count(input)} tokens (${count(totals.inputTokens)} fresh, ${count(totals.cachedInputTokens)} cached${written})`,
    `Output: ${count(totals.outputTokens)} tokens`,
    `With every tool in each request: about ${count(totals.fullMode.inputTokens)} tokens of input`,
  ]
  if (totals.toolCostUsd > 0) lines.push(`Tools: $${totals.toolCostUsd.toFixed(4)}`)
  return lines.join('\n')
}

function help(): string {
  const lines = Object.values(COMMANDS).map(({ usage, summary }) => `${usage.padEnd(17)} ${summary}`)
  return [
    ...lines,
    '/exit             leave (also Ctrl-D)',
    'Ctrl-C            stop the answer; twice to leave',
  ].join('\n')
}

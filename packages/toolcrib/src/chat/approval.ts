import type { AskAnswer, AskedCall, AskHandler, ToolRegistry } from '@toolcrib/core'
import { type AllowedTools, definitionHash } from '@toolcrib/gateway'
import pc from 'picocolors'
import { oneLine, printable } from './printable.ts'

export interface ApprovalOptions {
  readonly registry: ToolRegistry
  /** Tools that run without a question: their own calls need approval. */
  readonly trusted: ReadonlySet<string>
  /** Where what is always allowed is kept; without it, that lasts for this chat. */
  readonly alwaysAllowed: AllowedTools | undefined
  /** Resolves to undefined when there is no answer. */
  ask(question: string): Promise<string | undefined>
}

/** Asks at the terminal, one question at a time, also for the calls of sub-agents. No answer means no. */
export function approval({ registry, trusted, alwaysAllowed, ask }: ApprovalOptions): AskHandler {
  /** What is allowed in this chat; a tool that changes is another one. */
  const allowed = new WeakSet<object>()
  let last: Promise<unknown> = Promise.resolve()

  const decide = async ({ tool, args }: AskedCall): Promise<AskAnswer> => {
    const registered = registry.get(tool)
    if (!registered) return 'deny'
    const definition = definitionHash(registered)
    if (trusted.has(tool) || allowed.has(registered) || alwaysAllowed?.list()[tool] === definition)
      return 'once'
    const question = `${pc.yellow('?')} Run ${pc.bold(oneLine(tool))}?\n${showArguments(args)}  [y]es, [n]o, in this [c]hat, [a]lways: `
    const answer = (await ask(question))?.trim().toLowerCase() ?? ''
    if (['y', 'yes'].includes(answer)) return 'once'
    if (!['c', 'chat', 'a', 'always'].includes(answer)) return 'deny'
    allowed.add(registered)
    if (answer.startsWith('a')) await alwaysAllowed?.set(tool, definition)
    return 'once'
  }

  return ({ calls }) => {
    const answers = last.then(async () => {
      const all: AskAnswer[] = []
      for (const call of calls) all.push(await decide(call))
      return all
    })
    last = answers.catch(() => {})
    return answers
  }
}

/** In full: a user cannot approve what was cut off. */
function showArguments(args: unknown): string {
  const text = JSON.stringify(args, null, 2) ?? ''
  if (text === '{}' || text === '') return ''
  const lines = printable(text).split('\n')
  return `${lines.map((line) => `  ${pc.dim(line)}`).join('\n')}\n`
}

import pc from 'picocolors'
import type { HookedCall, ToolRegistry } from 'toolcrib'
import type { AgentHooks } from 'toolcrib/agent'
import { oneLine, printable } from './printable.ts'

export interface ApprovalOptions {
  readonly registry: ToolRegistry
  /** Tools that run without a question: they only find tools, or their own calls need approval. */
  readonly trusted: ReadonlySet<string>
  /** Resolves to undefined when there is no answer. */
  ask(question: string): Promise<string | undefined>
}

/**
 * Asks before each call of a tool that is not annotated as read-only. Asks one question at a time, even for parallel
 * calls; no answer means no.
 */
export function approval({ registry, trusted, ask }: ApprovalOptions): AgentHooks {
  const always = new Set<string>()
  let last: Promise<unknown> = Promise.resolve()

  const decide = async ({ name, args }: HookedCall) => {
    if (always.has(name)) return undefined
    const question = `${pc.yellow('?')} Run ${pc.bold(oneLine(name))}?\n${showArguments(args)}  [y]es, [n]o, [a]lways in this chat: `
    const answer = (await ask(question))?.trim().toLowerCase() ?? ''
    if (answer === 'a' || answer === 'always') always.add(name)
    if (['y', 'yes', 'a', 'always'].includes(answer)) return undefined
    return { deny: 'the user did not approve this call; ask what they want instead' }
  }

  return {
    before_tool_call(call) {
      const isReadOnly = registry.get(call.name)?.annotations?.readOnlyHint === true
      if (isReadOnly || trusted.has(call.name)) return undefined
      const decision = last.then(() => decide(call))
      last = decision.catch(() => {})
      return decision
    },
  }
}

/** In full: a user cannot approve what was cut off. */
function showArguments(args: unknown): string {
  const text = JSON.stringify(args, null, 2) ?? ''
  if (text === '{}' || text === '') return ''
  const lines = printable(text).split('\n')
  return `${lines.map((line) => `  ${pc.dim(line)}`).join('\n')}\n`
}

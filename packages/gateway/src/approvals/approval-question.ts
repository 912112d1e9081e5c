import type { ToolResult } from '@toolcrib/core'
import { clipText, maskArguments, showHidden } from '@toolcrib/core/internal'
import { isJson, type Json } from '../json-rpc.ts'
import type { GrantKind } from './approval-book.ts'

const MAX_SHOWN = 1_500
const MIN_SHOWN = 100
const MAX_ARGUMENTS = 10_000

/** A call as its question names it. */
interface AskedAbout {
  readonly tool: string
  readonly args: unknown
  /** What a saved script calls. */
  readonly uses: readonly string[]
}

/** The question about calls for a client's user. It has no text of a server but the names of its tools. */
export function approvalQuestion(calls: readonly AskedAbout[]): Json {
  const maxChars = Math.max(MIN_SHOWN, MAX_SHOWN / calls.length)
  const shown = calls.map(({ tool, args, uses }) => {
    const does = uses.length > 0 ? ` (a script that calls ${uses.join(', ')})` : ''
    return `${tool}${does} ${shownWithin(maxChars, args)}`
  })
  const several = `Toolcrib: run these ${calls.length} calls of a script?\n${shown.join('\n')}`
  return {
    message: shown.length === 1 ? `Toolcrib: run ${shown[0]}?` : several,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Allow it',
          description:
            'once: this call; session: every call of this tool in this session; always: while it is unchanged',
          enum: ['once', 'session', 'always'],
        },
      },
      required: ['decision'],
    },
  }
}

/** What is hidden would be run, too. */
function shownWithin(maxChars: number, args: unknown): string {
  const whole = JSON.stringify(args) ?? '{}'
  const more = whole.length > maxChars ? ` (and ${Math.ceil(whole.length - maxChars)} more characters)` : ''
  return `${showHidden(clipText(whole, maxChars))}${more}`
}

/** What a client's user decided. Accepting without a choice means this call; anything else that was not offered is a refusal. */
export function readDecision(answer: unknown): GrantKind | 'deny' {
  if (!isJson(answer) || answer.action !== 'accept') return 'deny'
  const decision = isJson(answer.content) ? answer.content.decision : undefined
  if (decision === 'session' || decision === 'always') return decision
  return decision === undefined || decision === 'once' ? 'once' : 'deny'
}

/** All that wait are one value of the store, which is read often. */
export function shownArguments(args: unknown): unknown {
  const masked = maskArguments(args)
  const text = JSON.stringify(masked) ?? ''
  return text.length <= MAX_ARGUMENTS ? masked : clipText(text, MAX_ARGUMENTS)
}

export function tooManyWait(tool: string): ToolResult {
  const error = `"${tool}" needs the user's approval, and too many calls wait for it already. Nothing was run; tell the user.`
  return { ok: false, code: 'denied', error }
}

export function unanswered(tool: string, id: string): ToolResult {
  const error = `"${tool}" waits for the user's approval (${id}): on the page of the gateway, or with "toolcrib approve-call ${id}". Nothing was run. Once it is approved, call it again with the same arguments.`
  return { ok: false, code: 'denied', error }
}

import { withoutHidden } from '../names.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import { describeFaults, type FoundFaults } from '../schema/describe-faults.ts'
import { maskArguments } from '../secrets/mask-arguments.ts'
import { clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import { failedWith, failure } from '../tool-result.ts'
import type { Batch } from './batch.ts'
import type { CallScope, CallTarget } from './call-scope.ts'
import type { OpenCall } from './open-call.ts'

/** Writes the answer of a call that runs nothing. Loaded with the first such call. Never throws. */
export function explainCall(opened: OpenCall, batch: Batch): OpenCall {
  try {
    return { ...opened, step: explained(opened, batch) }
  } catch (thrown) {
    return { ...opened, step: { answer: failedWith(thrown) } }
  }
}

function explained({ call, step, target }: OpenCall, batch: Batch): OpenCall['step'] {
  if ('unknown' in step) return { answer: failure('not_available', describeUnknown(call.name, batch.scope)) }
  if (target === undefined) return step
  if ('dryRun' in step)
    return { answer: dryRunResult(target.entry.name, step.dryRun, batch.scope.asks(target)) }
  if (!('faults' in step)) return step
  const { faults, showsSchema } = step
  return { answer: invalidArguments(target, faults, { showsSchema, batch }), showsSchema }
}

/** The maximum length of a registered name. */
const MAX_SHOWN_NAME = 256

function describeUnknown(name: string, scope: CallScope): string {
  const nextStep = scope.searchToolName ? ` Find tools with ${scope.searchToolName}.` : ''
  if (scope.isGone(name)) return `"${name}" is no longer available: it was removed.${nextStep}`
  const close = scope.suggest(name)
  const suggestion = close.length > 0 ? ` Close names: ${close.join(', ')}.` : ''
  const missing = describeMissing(scope.missingServers(name))
  return `Unknown tool: ${clipText(name, MAX_SHOWN_NAME) || '(no name)'}.${missing}${suggestion}${nextStep}`
}

const MAX_MISSING = 5
const MAX_REASON = 200

/** Which servers are missing, why, and what to do: without them, a correct name looks wrong. */
function describeMissing(servers: readonly ServerStatus[]): string {
  const failed = servers.flatMap((status) =>
    status.state === 'failed'
      ? [`"${status.server}" (${clipText(withoutHidden(status.reason), MAX_REASON)})`]
      : [],
  )
  const connecting = servers.flatMap((status) =>
    status.state === 'connecting'
      ? [`"${status.server}"${status.detail === undefined ? '' : ` (${status.detail})`}`]
      : [],
  )
  const [a, theirs] = failed.length === 1 ? ['A server', 'its'] : ['Servers', 'their']
  const what = `${a} failed, so ${theirs} tools are missing`
  const faults = failed.length === 0 ? '' : ` ${what}: ${listed(failed)}. Tell the user what has to be fixed.`
  return connecting.length === 0
    ? faults
    : `${faults} Still connecting: ${listed(connecting)}; call again in a moment.`
}

function listed(servers: readonly string[]): string {
  const more = servers.length > MAX_MISSING ? `, and ${servers.length - MAX_MISSING} more` : ''
  return servers.slice(0, MAX_MISSING).join(', ') + more
}

export function invalidArguments(
  { entry }: CallTarget,
  faults: string | FoundFaults,
  {
    showsSchema,
    batch,
    note = '',
  }: { readonly showsSchema: boolean; readonly batch: Batch; readonly note?: string },
): ToolResult {
  const { name, definition } = entry
  const described = typeof faults === 'string' ? faults : describeFaults(faults, batch.mask)
  const error = `Invalid arguments for ${name}: ${described}${note}`
  if (!showsSchema) return failure('input_invalid', error)
  const { parameters } = definition
  const text = `${error}\nIts parameters: ${JSON.stringify(parameters)}`
  return { ok: false, code: 'input_invalid', error: text, structured: { name, parameters } }
}

/** The result of a dry run, which says what the call would do. Secrets in its arguments are masked. */
function dryRunResult(toolName: string, args: unknown, asks: boolean): ToolResult {
  const shown = maskArguments(args)
  return {
    ok: true,
    value: `[dry run] ${toolName} would ${asks ? 'ask a person, then ' : ''}run with ${JSON.stringify(shown)}`,
    structured: { dryRun: true, name: toolName, args: shown, ...(asks ? { asks } : {}) },
  }
}

import { ToolcribError } from '@toolcrib/core'
import type { GrantKind, PendingApproval } from '@toolcrib/gateway'
import pc from 'picocolors'
import { requireGateways } from '../gateway/require-gateway.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain } from '../terminal/text.ts'

export interface ApproveCallFlags extends ServerFlags {
  readonly session?: boolean
  readonly always?: boolean
  readonly deny?: boolean
}

/** Lists the calls that wait in the running gateways, or settles one of them. */
export async function runApproveCall(
  terminal: Terminal,
  id: string | undefined,
  flags: ApproveCallFlags,
): Promise<number> {
  const running = await requireGateways(terminal, flags, 'no call can be waiting')
  if (id === undefined) {
    const books = await Promise.all(running.map((gateway) => gateway.approvals()))
    const pending = new Map(books.flatMap((book) => book.pending).map((call) => [call.id, call]))
    if (flags.json) terminal.printJson({ pending: [...pending.values()] })
    else if (pending.size === 0) terminal.say('no call waits for your approval')
    else for (const call of pending.values()) show(terminal, call)
    return 0
  }
  const answer: GrantKind | 'deny' = flags.deny
    ? 'deny'
    : flags.always
      ? 'always'
      : flags.session
        ? 'session'
        : 'once'
  for (const gateway of running) {
    const decided = await gateway.decide(id, answer)
    if (!decided) continue
    if (flags.json) terminal.printJson({ call: decided, answer })
    else
      terminal.say(
        `${answer === 'deny' ? pc.red('refused') : pc.green('allowed')} ${describe(decided)}${LASTS[answer]}`,
      )
    return 0
  }
  throw new ToolcribError(
    'config-invalid',
    `no call with the id "${plain(id)}" is waiting; "toolcrib approve-call" lists those that are`,
  )
}

const LASTS = {
  once: ', this once',
  session: ', in this session',
  always: ', as long as its definition stays the same',
  deny: '; nothing was run',
} as const

function show(terminal: Terminal, call: PendingApproval): void {
  const from = [call.client, call.profile].filter((part) => part !== undefined).map((part) => plain(part))
  terminal.say(
    `${pc.bold(call.id)} ${describe(call)}${from.length > 0 ? pc.dim(` for ${from.join(', ')}`) : ''}`,
  )
  for (const line of JSON.stringify(call.args, null, 2).split('\n')) terminal.say(`  ${plain(line)}`)
}

function describe({ tool, server, annotations }: PendingApproval): string {
  const does = annotations?.destructiveHint === true ? ' (destroys)' : ''
  return `${plain(tool)}${server === undefined ? '' : ` of ${plain(server)}`}${does}`
}

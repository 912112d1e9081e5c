import { ToolcribError } from '@toolcrib/core'
import type { ApprovalGrant } from '@toolcrib/gateway'
import pc from 'picocolors'
import { requireGateways } from '../gateway/require-gateway.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, plural } from '../terminal/text.ts'

/** Lists the grants of the running gateways, or ends them. */
export async function runGrants(
  terminal: Terminal,
  action: string | undefined,
  id: string | undefined,
  flags: ServerFlags,
): Promise<number> {
  if (action !== undefined && action !== 'revoke')
    throw new ToolcribError('config-invalid', `unknown action "${plain(action)}"; did you mean "revoke"?`)
  const running = await requireGateways(terminal, flags)
  const books = await Promise.all(running.map((gateway) => gateway.approvals()))
  const grants = [...new Map(books.flatMap((book) => book.grants).map((grant) => [grant.id, grant])).values()]
  if (action === undefined) {
    if (flags.json) terminal.printJson({ grants })
    else if (grants.length === 0) terminal.say('nothing is granted')
    else for (const grant of grants) show(terminal, grant)
    return 0
  }
  const meant = id === undefined ? undefined : grants.find((grant) => grant.id.startsWith(id))?.id
  if (id !== undefined && meant === undefined)
    throw new ToolcribError(
      'config-invalid',
      `there is no grant "${plain(id)}"; "toolcrib grants" lists them`,
    )
  const ended = await Promise.all(running.map((gateway) => gateway.revoke(meant)))
  // Gateways of one config share a store: the second one finds nothing left.
  const revoked = ended.reduce((sum, count) => sum + count, 0)
  if (flags.json) terminal.printJson({ revoked })
  else terminal.say(`revoked ${plural(revoked, 'grant')}`)
  return 0
}

function show(terminal: Terminal, { id, kind, tool, at, until }: ApprovalGrant): void {
  const lasts =
    until === undefined ? 'until its definition changes' : `until ${new Date(until).toLocaleTimeString()}`
  const since = at === 0 ? 'in your config' : `since ${new Date(at).toLocaleString()}`
  terminal.say(`${pc.bold(id.slice(0, 8))} ${plain(tool)} ${kind}, ${lasts} ${pc.dim(since)}`)
}

import { type Command, Option } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib approve-call`: settles a call that waits for a person. */
export function approveCallCommand(terminal: Terminal): Command {
  const load = async () => (await import('./run-approve-call.ts')).runApproveCall
  return defineCommand(terminal, 'approve-call', HELP, load)
    .description('Allow or refuse a call that waits for your approval.')
    .argument('[id]', 'the id that the waiting call was given; without it, the waiting calls are listed')
    .addOption(new Option('--session', 'allow the tool in this session').conflicts(['always', 'deny']))
    .addOption(
      new Option('--always', 'allow the tool as long as its definition stays the same').conflicts('deny'),
    )
    .addOption(new Option('--deny', 'refuse the call'))
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Tools that "ask" of [tools] or of a profile names run only with a person's approval. Where the client cannot ask its user, \
the call waits here and on the page. Without an option, this one call is allowed, with these arguments, for ten minutes.

Examples:
  toolcrib approve-call
  toolcrib approve-call 7F3K
  toolcrib approve-call 7F3K --session
  toolcrib approve-call 7F3K --deny
Exit codes: 0 done, 1 no such call is waiting or no gateway is running, 2 wrong usage.`

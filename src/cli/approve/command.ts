import { Command } from 'commander'
import { withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { ApproveFlags } from './run-approve.ts'

/** `toolcrib approve`: takes changes over into the lockfile. */
export function approveCommand(terminal: Terminal): Command {
  return withServerFlags(new Command('approve'))
    .description('Take over what changed, so that it is found and callable again.')
    .argument(
      '[names...]',
      'servers, tools (mcp__files__read_file or files.read_file), or globs; with @digest, as "toolcrib diff" shows it',
    )
    .option('--all', 'everything that changed')
    .option('--yes', 'do not ask, on a terminal either')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (names: string[], flags: ApproveFlags) => {
      const { runApprove } = await import('./run-approve.ts')
      terminal.exitCode = await runApprove(terminal, names, flags)
    })
}

const HELP = `
A server's name means the server with its command and all its tools. Approving a server, or a tool of one that is new \
or has another command, starts it.

Servers are asked anew. With the digest that "toolcrib diff" prints, just that change is taken, and only if it is still the \
same; of a new server, its command without its tools. Without one, a terminal shows what is to be taken and asks.

Examples:
  toolcrib approve files.read_file@3fa9c01d77e2b456   as diff showed it
  toolcrib approve files                       a server
  toolcrib approve mcp__files__read_file       one tool
  toolcrib approve 'mcp__github__list_*'       by glob
  toolcrib approve --all
Exit codes: 0 done, 1 a name fits nothing or a server could not be asked, 2 wrong usage, no lockfile or a damaged one.`

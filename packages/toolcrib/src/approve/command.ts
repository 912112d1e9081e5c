import type { Command } from 'commander'
import { defineCommand, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib approve`: writes changes to the lockfile. */
export function approveCommand(terminal: Terminal): Command {
  return withServerFlags(
    defineCommand(terminal, 'approve', HELP, async () => (await import('./run-approve.ts')).runApprove),
  )
    .description('Approve changes of servers and tools, so that they can be used again.')
    .argument(
      '[names...]',
      'servers, tools (files.read_file) or globs; with @digest, as "toolcrib diff" prints it',
    )
    .option('--all', 'approve everything that changed')
    .option('--yes', 'approve what the servers list now, without asking')
}

const HELP = `
A server's name covers its command and all its tools. Approving a server starts it, and so does approving \
a tool of a server that is new or has a different command.

Servers are asked again for what they list. With the digest that "toolcrib diff" prints, exactly that change is approved, and \
only if it is still the same; for a new server, its command without its tools. Without a digest, a terminal shows the \
changes and asks; without a terminal, --yes is needed.

Examples:
  toolcrib approve files.read_file@3fa9c01d77e2b456   what diff printed
  toolcrib approve files                              a server
  toolcrib approve files.read_file                    one tool
  toolcrib approve files:prompt:review                one prompt
  toolcrib approve 'mcp__github__list_*'              tools by glob
  toolcrib approve --all --yes                        in a script
The names and the digest are examples; "toolcrib diff" prints yours.
Exit codes: 0 done, 1 a name matches nothing or a server could not be asked, 2 wrong usage, no lockfile or a damaged one.`

import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib setup`, and `toolcrib` alone: copies the user's servers, and connects clients to the gateway. */
export function setupCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'setup', HELP, async () => (await import('./run-setup.ts')).runSetup)
    .description('Copy the servers of your programs into one config, and let the programs use the gateway.')
    .option('--yes', 'accept every default without asking')
}

const HELP = `
The same as "toolcrib" without a command. It finds the MCP servers of the programs on this machine, copies them into your own \
config, asks for variables that have no value, checks the servers for at most ten seconds, and puts the gateway in place of \
the servers in the programs that you choose. Every change of a file is shown first, and can be undone. Without a terminal, it \
prints the commands for each step.
Values of variables are saved in your state folder, outside of any repository.

Examples:
  toolcrib
  toolcrib setup --yes
Exit codes: 0 done, 1 no servers were found or none is ready, 2 a config that cannot be changed, 130 cancelled.`

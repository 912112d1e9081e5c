import type { Command } from 'commander'
import { defineCommand, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib lock`: approves the servers as they are now. */
export function lockCommand(terminal: Terminal): Command {
  return withServerFlags(
    defineCommand(terminal, 'lock', HELP, async () => (await import('./run-lock.ts')).runLock),
  ).description('Approve the servers and what they offer as it is now: write them to toolcrib.lock.')
}

const HELP = `
Starts the servers of the project's config and approves everything they list; if there already is a lockfile, look at \
"toolcrib diff" first. The servers of your user config have a lockfile beside that file; lock them with --config.
Commit toolcrib.lock, for review, and toolcrib.lock.gz, which has the definitions for "toolcrib diff". A literal that looks like a \
secret is written as a digest and reported; use a \${VARIABLE} instead.

After that, tools, prompts, resources and instructions that change are held back, and a server whose command changes is not \
started, until "toolcrib approve". A server that cannot be asked keeps its earlier approval; when none can be asked, nothing is \
written.

Examples:
  toolcrib lock
  toolcrib lock --config team/toolcrib.toml --json
Exit codes: 0 done, 1 a server could not be asked, 2 wrong usage, no config or no servers in it.`

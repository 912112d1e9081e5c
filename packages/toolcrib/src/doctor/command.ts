import type { Command } from 'commander'
import { defineCommand, REGISTRY_HELP, withRegistryFlags, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib doctor`: checks config, servers and lockfile. */
export function doctorCommand(terminal: Terminal): Command {
  return withRegistryFlags(
    withServerFlags(
      defineCommand(terminal, 'doctor', HELP, async () => (await import('./run-doctor.ts')).runDoctor),
      { timeoutMs: 10_000 },
    ),
  )
    .description('Check config, servers, definitions and lockfile, and say what to do next.')
    .argument('[servers...]', 'check only these servers')
    .option('--strict', 'a deny rule that matches no tool is a problem')
}

const HELP = `
Starts the servers, all of the config or just those that are named, except those that the lockfile does not approve. While a \
gateway of the config is running, it uses the servers of that one. A server that has not answered after ten seconds is called hanging; --timeout, or connect_timeout_ms in its config, gives it more time.
${REGISTRY_HELP}

Examples:
  toolcrib doctor
  toolcrib doctor github slack
  toolcrib doctor --json | jq '.findings'
github and slack are examples; use the names of your servers.
Exit codes: 0 everything is fine, 1 doctor found problems, 2 wrong usage.`

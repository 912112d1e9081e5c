import { Command } from 'commander'
import { REGISTRY_HELP, withRegistryFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { DoctorFlags } from './run-doctor.ts'

/** `toolcrib doctor`: checks config, servers and lockfile. */
export function doctorCommand(terminal: Terminal): Command {
  return withRegistryFlags(withServerFlags(new Command('doctor'), { timeoutMs: 10_000 }))
    .description('Check config, servers, definitions and lockfile, and say what to do next.')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import('./run-doctor.ts')
      terminal.exitCode = await runDoctor(terminal, flags)
    })
}

const HELP = `
Starts the configured servers, except those that the lockfile does not approve. A server that has not answered after ten seconds is called hanging; --timeout, or connect_timeout_ms in its config, gives it more time.
${REGISTRY_HELP}

Examples:
  toolcrib doctor
  toolcrib doctor --json | jq '.findings'
Exit codes: 0 everything is fine, 1 doctor found problems, 2 wrong usage.`

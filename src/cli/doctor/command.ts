import { Command } from 'commander'
import { REGISTRY_HELP, withRegistryFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { DoctorFlags } from './run-doctor.ts'

/** `toolcrib doctor`: how config, servers and lockfile are doing, and what to do next. */
export function doctorCommand(terminal: Terminal): Command {
  return withRegistryFlags(withServerFlags(new Command('doctor')))
    .description('Check config, servers, definitions and lockfile, and say what to do next.')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import('./run-doctor.ts')
      terminal.exitCode = await runDoctor(terminal, flags)
    })
}

const HELP = `
Starts the configured servers, except those that the lockfile does not approve.
${REGISTRY_HELP}

Examples:
  toolcrib doctor
  toolcrib doctor --json | jq '.findings'
Exit codes: 0 all is well, 1 something needs attention, 2 wrong usage.`

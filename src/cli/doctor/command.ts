import { Command } from 'commander'
import { MODE_HELP, withModeFlags, withServerFlags } from '../flags.ts'
import { fitted } from '../terminal.ts'
import type { DoctorFlags } from './run-doctor.ts'

/** `toolcrib doctor`: how config, servers and lockfile are doing, and what to do next. */
export function doctorCommand(): Command {
  return withModeFlags(withServerFlags(new Command('doctor')))
    .description('Check config, servers, definitions and lockfile, and say what to do next.')
    .addHelpText('after', () => fitted(HELP))
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import('./run-doctor.ts')
      await runDoctor(flags)
    })
}

const HELP = `
Starts the configured servers, except those that the lockfile does not approve.
${MODE_HELP}

Examples:
  toolcrib doctor
  toolcrib doctor --json | jq '.findings'
Exit codes: 0 all is well, 1 something needs attention, 2 wrong usage.`

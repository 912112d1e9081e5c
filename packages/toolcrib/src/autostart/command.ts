import { Argument, type Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib autostart`: starts a gateway at each login. */
export function autostartCommand(terminal: Terminal): Command {
  return defineCommand(
    terminal,
    'autostart',
    HELP,
    async () => (await import('./run-autostart.ts')).runAutostart,
  )
    .description('Start a gateway each time you log in, or no longer.')
    .addArgument(new Argument('<action>', 'what to do').choices(['on', 'off', 'status']))
    .option('--config <file>', 'the config that the gateway reads (default: your own)')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print the result as JSON')
}

const HELP = `
"on" writes a systemd user unit (Linux), a launchd agent (macOS) or a scheduled task (Windows) of your user, which runs "toolcrib \
serve", and starts it at once. The file and the commands are shown first. "off" stops the gateway and removes the file.
Programs find their servers with the PATH that "on" was run with.

Examples:
  toolcrib autostart on
  toolcrib autostart on --dry-run
  toolcrib autostart status
  toolcrib autostart off
Exit codes: 0 done, 1 nothing was written or the system refused it, 2 wrong usage or no config.`

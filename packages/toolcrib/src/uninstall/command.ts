import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib uninstall`: undoes the set-up, and removes what toolcrib keeps. */
export function uninstallCommand(terminal: Terminal): Command {
  return defineCommand(
    terminal,
    'uninstall',
    HELP,
    async () => (await import('./run-uninstall.ts')).runUninstall,
  )
    .description('Undo the set-up, and remove your config, saved values and caches.')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Gives every program its own servers back, as "toolcrib disconnect --all" does, stops the gateways that you have started, ends \
autostart, and removes your config folder, state folder and cache folder of toolcrib: servers, copied secrets, tokens, saved \
values, logs. It shows them first. Configs of projects stay, and so does the program.

Examples:
  toolcrib uninstall
  toolcrib uninstall --yes
Exit codes: 0 done, 1 nothing was removed, 2 a program cannot be disconnected, so nothing was removed.`

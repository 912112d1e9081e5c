import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib script`: what a script did, and how to keep one as a tool. */
export function scriptCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'script', HELP, async () => (await import('./run-script.ts')).runScript)
    .description('Replay a script that ran through the gateway, or save one as a tool.')
    .argument('<words...>', 'replay RUN; or save NAME [RUN], without RUN the file as it is')
    .option('--code <file>', 'replay: this program in place of the recorded one')
    .option('--description <text>', 'save: what the tool does')
    .option('--input <schema>', 'save: the JSON schema of "input"')
    .option('--store <store>', 'where the gateway keeps its state')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
}

const HELP = `
"toolcrib logs" and the page's sessions show the ids of runs, which are kept for a day. A replay gives each call its recorded \
result: no server is called. A saved script is a file in toolcrib-scripts, beside the config, and its hash in [scripts.saved]: \
once the file changes, the tool is left out until you have read it and saved it again.

Examples:
  toolcrib script replay 4b1f0c
  toolcrib script replay 4b1f0c --code fixed.js
  toolcrib script save cancel_orders 4b1f0c --description "Cancels pending orders."
  toolcrib script save cancel_orders
4b1f0c is an example.
Exit codes: 0 done, 1 no such run, or the replay did something else, 2 wrong usage.`

import { Command } from 'commander'
import { REGISTRY_HELP, withRegistryFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { CallFlags } from './run-call.ts'

/** `toolcrib call`: one call, through the same gates as a model's. */
export function callCommand(terminal: Terminal): Command {
  return withRegistryFlags(withServerFlags(new Command('call')))
    .description('Call a tool, through the same checks as a model would.')
    .argument('<tool>', 'mcp__files__read_file, files.read_file, or read_file when only one fits')
    .argument('[json]', 'the arguments as a JSON object; - reads them from stdin')
    .option('--arg <key=value>', 'one argument; may be given again', gather, [])
    .option('--dry-run', 'check the call, and run nothing')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (name: string, json: string | undefined, flags: CallFlags) => {
      const { runCall } = await import('./run-call.ts')
      terminal.exitCode = await runCall(terminal, name, json, flags)
    })
}

const HELP = `
Examples:
  toolcrib call files.read_text_file '{"path": "README.md"}'
  toolcrib call files.read_text_file --arg path=README.md --arg head=10
  echo '{"message": "hi"}' | toolcrib call echo -
  toolcrib call github.create_issue --arg title=Bug --dry-run

A value given by --arg is read as the tool's schema says: text where it wants text, JSON elsewhere.
Only the server that has the tool is started, when the name tells which.
--timeout is how long the server may take to start, and then how long the call may take in all; without it a call may \
take what its server's timeout_ms says, or a minute, and longer while it tells of its progress. Progress is shown on a terminal, and Ctrl-C cancels the call.
${REGISTRY_HELP}
Exit codes: 0 done, 1 the tool failed or took too long, 2 wrong usage, an unknown tool or arguments that do not fit, \
130 cancelled.`

function gather(value: string, before: readonly string[]): string[] {
  return [...before, value]
}

import type { Command } from 'commander'
import {
  defineCommand,
  gather,
  NAMES_HELP,
  REGISTRY_HELP,
  withRegistryFlags,
  withServerFlags,
} from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib call`: one call, through the same checks as a model's. */
export function callCommand(terminal: Terminal): Command {
  return withRegistryFlags(
    withServerFlags(
      defineCommand(terminal, 'call', HELP, async () => (await import('./run-call.ts')).runCall),
    ),
  )
    .description("Call a tool, through the same checks as a model's call.")
    .argument('<tool>', 'files.read_file, or read_file when only one server has it')
    .argument('[args...]', 'key=value, or all of them as one JSON object; - reads that from stdin')
    .option('--arg <key=value>', 'the same as key=value', gather)
    .option('--dry-run', 'check the call without running it')
    .option('--yes', 'run a tool that "ask" of the config names')
    .option('--out <file>', 'write the result to a file: images and audio as bytes')
}

const HELP = `
Examples:
  toolcrib call files.list_allowed_directories
  toolcrib call files.read_text_file path=index.md head=10
  toolcrib call files.read_text_file '{"path": "index.md"}'
  echo '{"message": "hi"}' | toolcrib call echo -
  toolcrib call everything.get-tiny-image --out image.png
  toolcrib call github.create_issue title=Bug --dry-run
${NAMES_HELP} github stands for one of yours.

A value is text where the tool's schema expects text, and JSON elsewhere.
The name is looked up among cached tools, so that only the server that has it is started. Servers that are not cached are asked.
--timeout limits the start of the server, and then the whole call. Without it, a call may take the server's timeout_ms, by \
default one minute, and longer while it reports progress. A terminal shows the progress; Ctrl-C cancels the call.
${REGISTRY_HELP}
Exit codes: 0 done, 1 the tool failed or took too long, 2 wrong usage, an unknown tool or invalid arguments, 130 cancelled.`

import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib audit`: which calls ran through the gateway, and whether the record was changed. */
export function auditCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'audit', HELP, async () => (await import('./run-audit.ts')).runAudit)
    .description('Show or check the record of calls that the gateways of this config keep.')
    .option('--since <when>', 'only calls since a date, or of the last 30m, 12h or 7d')
    .option('--verify', 'check that no line was changed, added or removed')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print each call as a line of JSON; with --verify, what was found')
}

const HELP = `
The gateway records calls if the config says so: audit = "on" in [gateway], "arguments" to keep the arguments too, "required" to \
run no call without a record. It works while the gateway runs and when it does not.

Examples:
  toolcrib audit --since 12h
  toolcrib audit --json | jq 'select(.decision == "deny")'
  toolcrib audit --verify
Exit codes: 0 done, 1 nothing is recorded, or --verify found that the record was changed, 2 wrong usage or no config.`

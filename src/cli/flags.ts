import { type Command, InvalidArgumentError, Option } from 'commander'

/** Flags that every command over servers has. */
export interface ServerFlags {
  readonly config?: string
  readonly lockfile?: string
  /** How long servers may take; what the config or the default says, when absent. */
  readonly timeout?: number
  readonly json?: boolean
}

/** Flags that say what is shown and what is deferred; over environment and config. */
export interface ModeFlags {
  readonly mode?: 'full' | 'lazy' | 'auto'
  readonly defer?: 'all' | 'mcp' | 'flagged'
}

/** The flag of commands that may go by what servers listed before. */
export interface RefreshFlags {
  readonly refresh?: boolean
}

/** Adds the flags that every command over servers has. */
export function withServerFlags(command: Command): Command {
  return command
    .option('--config <file>', 'read this config and no other')
    .option('--lockfile <file>', 'the lockfile (default: toolcrib.lock beside the config)')
    .option('--timeout <ms>', 'how long servers may take (default: 30000)', toMilliseconds)
    .option('--json', 'print the result as JSON')
}

/** Adds the flags that say what is shown and what is deferred. */
export function withModeFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--mode <mode>', 'full: show every tool; lazy: once found; auto: by their number').choices([
        'full',
        'lazy',
        'auto',
      ]),
    )
    .addOption(
      new Option('--defer <what>', 'which tools lazy mode holds back').choices(['all', 'mcp', 'flagged']),
    )
}

/** Adds the flag of commands that may go by what servers listed before. */
export function withRefreshFlag(command: Command): Command {
  return command.option('--refresh', 'ask the servers, whatever is remembered of them')
}

/** What `--help` says of mode flags. */
export const MODE_HELP = `--mode and --defer go before TOOLCRIB_REGISTRY_MODE and TOOLCRIB_DEFER, those before the project's config, and that \
before your own.`

/** What `--help` says of catalogues that are remembered. */
export const REFRESH_HELP = `What a server lists is remembered for a day, so that the next time nothing need be started; --refresh asks anew.`

/** A timer that is to wait for longer fires at once. */
const MAX_MILLISECONDS = 2 ** 31 - 1

function toMilliseconds(value: string): number {
  const count = Number(value)
  if (count > 0 && count <= MAX_MILLISECONDS) return count
  throw new InvalidArgumentError(
    `It must be a number of milliseconds, more than 0 and at most ${MAX_MILLISECONDS}.`,
  )
}

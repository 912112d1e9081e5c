import { type Command, InvalidArgumentError, Option } from 'commander'

/** Flags of every command over servers. */
export interface ServerFlags {
  readonly config?: string
  readonly lockfile?: string
  /** How long servers may take; the config's own limit or the default, when absent. */
  readonly timeout?: number
  readonly json?: boolean
}

/** Flags of every command that opens a registry. They win over environment and config. */
export interface RegistryFlags {
  readonly mode?: 'full' | 'lazy' | 'auto'
  readonly defer?: 'all' | 'mcp' | 'flagged'
  /** Every server must be held to a lockfile. */
  readonly locked?: boolean
}

/** The flag of commands that use what servers listed before. */
export interface RefreshFlags {
  readonly refresh?: boolean
}

/** Adds the flags of every command over servers. */
export function withServerFlags(command: Command): Command {
  return command
    .option('--config <file>', 'read this config file and no other')
    .option('--lockfile <file>', 'use this lockfile (default: toolcrib.lock beside the config)')
    .option('--timeout <ms>', 'how long each server may take (default: 30000)', toMilliseconds)
    .option('--json', 'print the result as JSON')
}

/** Adds the flags of every command that opens a registry. */
export function withRegistryFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--mode <mode>', 'full: show every tool; lazy: once found; auto: by their number').choices([
        'full',
        'lazy',
        'auto',
      ]),
    )
    .addOption(
      new Option('--defer <what>', 'which tools lazy mode defers').choices(['all', 'mcp', 'flagged']),
    )
    .option('--locked', 'fail when a server has no lockfile')
}

/** Adds the flag of commands that use what servers listed before. */
export function withRefreshFlag(command: Command): Command {
  return command.option('--refresh', 'ask every server again, also those whose tools are remembered')
}

/** What `--help` says about the flags of a registry. */
export const REGISTRY_HELP = `Precedence of --mode and --defer: flags, environment (TOOLCRIB_REGISTRY_MODE, TOOLCRIB_DEFER), project config, \
user config.
With --locked, a missing lockfile is an error: use it in CI.`

/** What `--help` says about remembered tools. */
export const REFRESH_HELP = `The tools of a server are remembered for a day, so the next run starts nothing; --refresh asks the servers again.`

/** A timer with a longer delay fires at once. */
const MAX_MILLISECONDS = 2 ** 31 - 1

function toMilliseconds(value: string): number {
  const count = Number(value)
  if (count > 0 && count <= MAX_MILLISECONDS) return count
  throw new InvalidArgumentError(
    `It must be a number of milliseconds, more than 0 and at most ${MAX_MILLISECONDS}.`,
  )
}

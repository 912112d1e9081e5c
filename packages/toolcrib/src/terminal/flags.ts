import { Command, InvalidArgumentError, Option } from 'commander'
import type { Terminal } from './terminal.ts'

/**
 * A command with its help. `load` loads what runs it, which gets the arguments and flags, and returns the exit code: `--help`
 * must not load the library.
 */
export function defineCommand(
  terminal: Terminal,
  name: string,
  help: string,
  load: () => Promise<(terminal: Terminal, ...given: never[]) => Promise<number>>,
): Command {
  return new Command(name)
    .addHelpText('after', () => terminal.help(help))
    .action(async (...given: unknown[]) => {
      const run = await load()
      // The last one is the command itself.
      terminal.exitCode = await run(terminal, ...(given.slice(0, -1) as never[]))
    })
}

/** Collects the values of a flag that can be repeated. */
export function gather(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** Flags of every command that uses servers. */
export interface ServerFlags {
  readonly config?: string
  readonly lockfile?: string
  /** Time limit per server. Default: the config's limit, or 30 s. */
  readonly timeout?: number
  readonly json?: boolean
}

/** Flags of every command that opens a registry. They take precedence over environment and config. */
export interface RegistryFlags {
  readonly mode?: 'full' | 'lazy' | 'auto'
  readonly defer?: 'auto' | 'all' | 'mcp' | 'flagged'
  /** Every server needs a lockfile. */
  readonly locked?: boolean
}

/** The flag of commands that use cached tools. */
export interface RefreshFlags {
  readonly refresh?: boolean
}

/** Adds the flags of every command that uses servers. */
export function withServerFlags(command: Command, { timeoutMs = 30_000 } = {}): Command {
  return command
    .option('--config <file>', 'read only this config file')
    .option('--lockfile <file>', 'use this lockfile (default: toolcrib.lock beside the config)')
    .option('--timeout <ms>', `time limit for each server (default: ${timeoutMs})`, toMilliseconds)
    .option('--json', 'print the result as JSON')
}

/** Adds the flags of every command that opens a registry. */
export function withRegistryFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--mode <mode>',
        'full: show every tool; lazy: show tools once found; auto: depends on their number',
      ).choices(['full', 'lazy', 'auto']),
    )
    .addOption(
      new Option('--defer <what>', 'which tools lazy mode defers').choices(['auto', 'all', 'mcp', 'flagged']),
    )
    .option('--locked', 'fail when a server has no lockfile')
}

/** Adds the flag of commands that use cached tools. */
export function withRefreshFlag(command: Command): Command {
  return command.option('--refresh', 'ask every server again, including those with cached tools')
}

/** The help text about registry flags. */
export const REGISTRY_HELP = `Precedence of --mode and --defer: flags, environment (TOOLCRIB_REGISTRY_MODE, TOOLCRIB_DEFER), project config, \
user config.
With --locked, a missing lockfile is an error: use it in CI.`

/** The help text about the names in examples. */
export const NAMES_HELP = `files, memory and everything are servers of the demo in a clone, examples/gateway/toolcrib.toml.`

/** The help text about cached tools. */
export const REFRESH_HELP = `The tools of a server are cached for a day, so the next run does not start it; --refresh asks the servers again.`

/** A timer with a longer delay fires immediately. */
const MAX_MILLISECONDS = 2 ** 31 - 1

function toMilliseconds(value: string): number {
  const count = Number(value)
  if (count > 0 && count <= MAX_MILLISECONDS) return count
  throw new InvalidArgumentError(
    `It must be a number of milliseconds, greater than 0 and at most ${MAX_MILLISECONDS}.`,
  )
}

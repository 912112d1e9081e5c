import type { OwnProgram } from './own-program.ts'
import { shellWord, wrap } from './text.ts'

/** Where a command runs: what a person has to type to run another one for the same config. */
export interface CommandPlace {
  readonly program: OwnProgram
  /** The `--config` of the command. */
  readonly config: string | undefined
  /** The `--lockfile` of the command. */
  readonly lockfile: string | undefined
}

/**
 * Rewrites each `"toolcrib status"` in a text as a person would have to type it here: with the program's name, config
 * and lockfile. `npm install` becomes the command that installs a package where this program finds it.
 */
export function withTypedCommands(text: string, place: CommandPlace): string {
  const { install } = place.program
  const installable = install === undefined ? text : text.replace(PACKAGE_HINT, install)
  return installable.replace(
    COMMAND_HINT,
    (_, command: string | undefined, rest: string) => `"${typed(command, rest, place)}"`,
  )
}

/** A command, and the text after it, such as ` --port 0`. */
const COMMAND_HINT = /"toolcrib(?: ([a-z-]*[a-z]))?([^"\n]*)"/g

/** Where a text says how to install a package, at the end of a line, of a part of it, or of what is coloured. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours are escapes.
const PACKAGE_HINT = /npm install(?= @?[\w/-]+(?:\u001B|;| \(|$))/gm

function typed(command: string | undefined, rest: string, place: CommandPlace): string {
  const { name } = place.program
  if (command === undefined) return name + rest
  return [name, command, ...placeFlags(command, rest, place)].join(' ') + rest
}

/** The flags that tell a command where this one found its config and lockfile, unless the hint has them itself. */
function placeFlags(command: string, rest: string, { config, lockfile }: CommandPlace): readonly string[] {
  if (rest.includes('--help')) return []
  const flags: string[] = []
  if (config !== undefined && TAKES_CONFIG.has(command) && !rest.includes('--config'))
    flags.push(`--config ${shellWord(config)}`)
  if (lockfile !== undefined && TAKES_LOCKFILE.has(command) && !rest.includes('--lockfile'))
    flags.push(`--lockfile ${shellWord(lockfile)}`)
  return flags
}

/**
 * The commands with `--lockfile`; all of these also have `--config`. Listed here, because describing all commands takes
 * too long for a hint.
 */
const TAKES_LOCKFILE: ReadonlySet<string> = new Set([
  'serve',
  'doctor',
  'list',
  'search',
  'call',
  'stats',
  'chat',
  'lock',
  'diff',
  'approve',
  'unlock',
  'eval',
])

/** The commands with `--config`. */
const TAKES_CONFIG: ReadonlySet<string> = new Set([
  ...TAKES_LOCKFILE,
  'script',
  'status',
  'logs',
  'stop',
  'restart',
  'approve-call',
  'autostart',
  'grants',
  'audit',
  'connect',
  'add',
  'remove',
  'enable',
  'disable',
  'memory',
  'script',
])

/** Wraps a line of a `--help`. An example stays a command that can be copied. */
export function helpLine(line: string, { name }: OwnProgram, lineWidth: number): string {
  if (!EXAMPLE.test(line)) return wrap(line, lineWidth)
  const named = line.replace(EXAMPLE, (_, before: string) => before + name)
  return named.length <= lineWidth ? named : brokenExample(named, lineWidth)
}

/** A line of a `--help` that shows how a command is typed, up to the name of the program. */
const EXAMPLE = /^( {2}(?:[^ ].* \| )?)toolcrib(?= |$)/

/** An example on several lines, with its explanation below. */
function brokenExample(example: string, lineWidth: number): string {
  const [command = '', about] = example.trim().split(/ {2,}/)
  // A line is not broken inside quotes.
  const words = command.replace(/'[^']*'|"[^"]*"/g, (quoted) => quoted.replaceAll(' ', NO_BREAK))
  const lines = wrap(`  ${words}`, lineWidth - ' \\'.length).replaceAll('\n', ' \\\n  ')
  const broken = lines.replaceAll(NO_BREAK, ' ')
  return about === undefined ? broken : `${broken}\n${wrap(`      ${about}`, lineWidth)}`
}

const NO_BREAK = '\u00A0'

import type { ServerConfig } from '../../config/server-config.ts'

/** A command that fetches the package or the image of a server if it is missing, and then runs it. */
export interface Launcher {
  /** As a person would say it: `npx`, `docker`, `npm exec`. */
  readonly name: string
  /** Whose syntax its arguments have, where the lockfile pins packages: see `package-runner.ts`. */
  readonly pins?: 'npx' | 'uvx' | 'docker'
  /** The folder that it writes while it installs. */
  readonly cache?: string
}

interface LauncherRow extends Launcher {
  readonly program: string
  /** The subcommand that runs something; other subcommands install nothing. */
  readonly words?: readonly string[]
}

const NPX = '~/.npm/_npx'
const UV = '~/.cache/uv'
const LAUNCHERS: readonly LauncherRow[] = [
  { program: 'npx', name: 'npx', pins: 'npx', cache: NPX },
  { program: 'npm', words: ['exec'], name: 'npm exec', cache: NPX },
  { program: 'npm', words: ['x'], name: 'npm exec', cache: NPX },
  { program: 'pnpm', words: ['dlx'], name: 'pnpm dlx' },
  { program: 'pnpx', name: 'pnpx' },
  { program: 'yarn', words: ['dlx'], name: 'yarn dlx' },
  { program: 'bunx', name: 'bunx' },
  { program: 'bun', words: ['x'], name: 'bunx' },
  { program: 'uvx', name: 'uvx', pins: 'uvx', cache: UV },
  { program: 'uv', words: ['run'], name: 'uv run', cache: UV },
  { program: 'uv', words: ['tool', 'run'], name: 'uvx', cache: UV },
  { program: 'pipx', words: ['run'], name: 'pipx', cache: '~/.local/pipx' },
  ...['docker', 'podman'].flatMap((program): LauncherRow[] => [
    { program, words: ['run'], name: program, pins: 'docker' },
    { program, words: ['container', 'run'], name: program },
  ]),
]

/** Returns the launcher that a server's command is; undefined for a command that fetches nothing. */
export function launcherOf({ command = '', args = [] }: ServerConfig): Launcher | undefined {
  const program = programName(command)
  // Windows starts the scripts of npm and the like with `cmd /c npx …`.
  if (program === 'cmd') {
    const [inner, ...rest] = args.slice(args.findIndex((arg) => /^\/[ck]$/i.test(arg)) + 1)
    const launcher = inner === undefined ? undefined : launcherOf({ command: inner, args: rest })
    if (!launcher) return undefined
    const { pins: _, ...unpinned } = launcher
    return unpinned
  }
  return LAUNCHERS.find((row) => row.program === program && hasWords(args, row.words ?? []))
}

/** `/usr/bin/npx`, `C:\nodejs\npx.cmd` → `npx`. */
function programName(command: string): string {
  return (command.split(/[/\\]/).at(-1) ?? '').toLowerCase().replace(/\.(cmd|exe|bat|ps1)$/, '')
}

/** Whether the arguments begin with these words, apart from options before them and the values of these. */
function hasWords(args: readonly string[], words: readonly string[]): boolean {
  const [first] = words
  if (first === undefined) return true
  const at = args.indexOf(first)
  const isSubcommand = args
    .slice(0, Math.max(at, 0))
    .every((arg, place) => arg.startsWith('-') || args[place - 1]?.startsWith('-'))
  return at >= 0 && isSubcommand && words.every((word, place) => args[at + place] === word)
}

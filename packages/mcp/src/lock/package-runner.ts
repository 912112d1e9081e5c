import type { ServerConfig } from '../config/server-config.ts'
import { launcherOf } from '../connection/stdio/launcher.ts'

/** A command that fetches the package or image it runs, and where its arguments name it. */
export interface RunnerCall {
  readonly runner: 'npx' | 'uvx' | 'docker'
  /** As written: `some-server`, `@scope/server@latest`, `ghcr.io/me/server:1`. */
  readonly spec: string
  /** The index of the spec in `args`; it follows `prefix`. */
  readonly at: number
  /** The text before it in the same argument, such as `--package=`. */
  readonly prefix: string
}

/** Returns what `npx`, `uvx` or `docker run` would run; undefined for any other command, and when that is ambiguous. */
export function runnerCallOf(config: ServerConfig): RunnerCall | undefined {
  const { args = [] } = config
  const runner = launcherOf(config)?.pins
  if (runner === undefined) return undefined
  const found = runner === 'docker' ? findImage(args) : findPackage(args, OPTIONS[runner])
  return found && { runner, ...found }
}

/** Returns the config with its package or image replaced by the approved one. */
export function pinTo(config: ServerConfig, runs: string): ServerConfig {
  const call = runnerCallOf(config)
  if (!call) return config
  const args = [...(config.args ?? [])]
  args[call.at] = `${call.prefix}${runs}`
  return { ...config, args }
}

/** Splits a spec into name and version: `@scope/a@1.2` → `@scope/a`, `1.2`. */
export function splitSpec(spec: string): { readonly name: string; readonly version?: string } {
  const at = spec.indexOf('@', 1)
  return at < 0 ? { name: spec } : { name: spec.slice(0, at), version: spec.slice(at + 1) }
}

/** The options of each runner that name the package, and those that take some other value. */
const OPTIONS = {
  npx: { names: ['--package', '-p'], values: ['--registry', '--cache', '--prefix', '-w', '--workspace'] },
  uvx: {
    names: ['--from'],
    values: [
      '--with',
      '--python',
      '-p',
      '--index-url',
      '--index',
      '--extra-index-url',
      '--cache-dir',
      '--directory',
    ],
  },
} as const

type Found = Pick<RunnerCall, 'spec' | 'at' | 'prefix'>

function findPackage(args: readonly string[], options: (typeof OPTIONS)['npx' | 'uvx']): Found | undefined {
  const isOneOf = (list: readonly string[], arg: string) => list.includes(arg)
  let first: Found | undefined
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    const [name = '', value] = splitOption(arg)
    const next = args[at + 1]
    if (isOneOf(options.names, name)) {
      const found =
        value === undefined
          ? { spec: next ?? '', at: at + 1, prefix: '' }
          : { spec: value, at, prefix: `${name}=` }
      // With two packages it is unclear which of them is the server.
      if (first) return undefined
      first = found
      if (value === undefined) at++
    } else if (arg === '-c' || arg === '--call') return undefined
    else if (isOneOf(options.values, name)) at += value === undefined ? 1 : 0
    else if (!arg.startsWith('-')) return named(first ?? { spec: arg, at, prefix: '' })
  }
  return first && named(first)
}

/** A folder, a URL or a variable is not a package whose version can be pinned. */
function named(found: Found): Found | undefined {
  return /^(@[\w.-]+\/)?[\w-][\w.-]*(@[\w.^~<>=*-]+|==[\w.]+)?$/.test(found.spec) ? found : undefined
}

const FLAGS_WITHOUT_VALUE =
  /^(-[itdPq]+|--(interactive|tty|rm|init|detach|privileged|read-only|publish-all|quiet))$/

function findImage(args: readonly string[]): Found | undefined {
  if (args[0] !== 'run') return undefined
  for (let at = 1; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!arg.startsWith('-')) return /^[\w][\w./:@-]*$/.test(arg) ? { spec: arg, at, prefix: '' } : undefined
    if (!FLAGS_WITHOUT_VALUE.test(arg) && !arg.includes('=')) at++
  }
  return undefined
}

function splitOption(arg: string): [string, string?] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1
  return at < 0 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)]
}

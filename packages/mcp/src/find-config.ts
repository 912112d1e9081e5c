import { ToolcribError } from '@toolcrib/core'
import { anyObject, anyText, checkOptions, type OptionRules, trueOrFalse } from '@toolcrib/core/internal'
import { type Config, loadConfig } from './config/load-config.ts'
import type { Environment } from './config/server-config.ts'
import { findProgram } from './lock/find-program.ts'
import { type LockLayer, lockInForce, lockPlaces, readLocks } from './lock/lock-layers.ts'
import { LockMemory } from './lock/lock-memory.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { lockfilePath } from './lock/lockfile-file.ts'

/** Where to look for config and lockfiles. Every option has a default. */
export interface FindOptions {
  /** The project folder. Default: the working directory. */
  readonly cwd?: string
  /** Variables of the config, `TOOLCRIB_*` settings, and the user's folders. Default: `process.env`. */
  readonly env?: Environment
  /** Reads only this config file. Throws `config-invalid` when it does not exist. */
  readonly path?: string
  /**
   * Checks every server against this lockfile. Default: `toolcrib.lock` beside the config file that defines the
   * server.
   */
  readonly lockfilePath?: string
  /** Command-line flags, by the keys of `[tools]`. Precedence: these, environment, project config, user config. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /**
   * true: without any config file, returns an empty config. By default, throws `config-invalid` and names the places
   * it looked in.
   */
  readonly optional?: boolean
  /**
   * true: a lockfile that is damaged, or named by `lockfilePath` and missing, is reported in its entry of `locks`,
   * and `lockfile` is undefined; for commands that write lockfiles. By default, both throw `config-invalid`.
   */
  readonly lenient?: boolean
  /**
   * true: a server starts only when a lockfile approves it, as with `require_lock = true` in the config. false:
   * servers are not checked, but `lockfile` is still returned; for commands that inspect changes. When absent, each
   * server is checked against its lockfile, if there is one.
   */
  readonly locked?: boolean
}

/** A config with its lockfiles. */
export interface FoundConfig {
  readonly config: Config
  /** One per config file, in ascending order of precedence. */
  readonly locks: readonly LockLayer[]
  /** The merged lockfile that servers are checked against; undefined when there is none. */
  readonly lockfile: Lockfile | undefined
  /** The path of the lockfile with the highest precedence, or where it would be written. */
  readonly lockPath: string
  /** Warnings for the user, for example that a lockfile used earlier is missing. */
  readonly warnings: readonly string[]
}

export const FIND_RULES: OptionRules<FindOptions> = {
  cwd: anyText,
  env: anyObject,
  path: anyText,
  lockfilePath: anyText,
  overrides: anyObject,
  optional: trueOrFalse,
  lenient: trueOrFalse,
  locked: trueOrFalse,
}

/**
 * Finds and reads the config and its lockfiles, without starting anything. A server whose table is invalid gets a
 * `problem` and does not affect the others. Throws `config-invalid` for an unknown option, an invalid or missing
 * config, and an invalid lockfile.
 */
export async function findConfig(options: FindOptions = {}): Promise<FoundConfig> {
  checkOptions('findConfig()', options, FIND_RULES)
  const { cwd = process.cwd(), env = process.env, path, overrides, lenient = false } = options
  const config = await loadConfig({
    cwd,
    env,
    onBadServer: ({ message }) => ({ problem: message }),
    ...(overrides === undefined ? {} : { overrides }),
    ...(path === undefined ? {} : { path }),
  })
  if (config.files.length === 0 && options.optional !== true) throw noConfig()
  const named = options.lockfilePath
  const locks = await readLocks(lockPlaces(config, { cwd, ...(named === undefined ? {} : { path: named }) }))
  const damaged = lenient ? locks.find(({ damage }) => damage !== undefined) : undefined
  const isRequired = options.locked ?? config.requireLock ?? false
  const lockfile = damaged ? undefined : lockInForce(locks, { isRequired })
  if (locks.every((layer) => layer.lockfile === undefined) && named !== undefined && !lenient)
    throw noLockfile(named)
  const main = damaged ?? locks.findLast((layer) => layer.lockfile !== undefined) ?? locks.at(-1)
  const { warnings, moved } = await new LockMemory(env).check(locks, await programsOf(config, { cwd, env }))
  return {
    config,
    locks,
    lockfile: lockfile && moved.size > 0 ? { ...lockfile, moved } : lockfile,
    lockPath: main?.path ?? named ?? lockfilePath(config, cwd),
    warnings,
  }
}

async function programsOf(
  { servers }: Config,
  options: { readonly cwd: string; readonly env: Environment },
): Promise<Map<string, string>> {
  const found = await Promise.all(
    Object.entries(servers).map(
      async ([name, server]) => [name, await findProgram(server, options)] as const,
    ),
  )
  return new Map(
    found.flatMap(([name, program]) => (program === undefined ? [] : [[name, program] as const])),
  )
}

function noConfig(): ToolcribError {
  const looked = 'toolcrib.toml, mcp.toml, .mcp.json and mcp.json here and in your config folder'
  const step = 'run "toolcrib" to set one up'
  return new ToolcribError('config-invalid', `no config found (looked for ${looked}); ${step}`)
}

/** Continuing without the requested lockfile would leave servers unchecked. */
function noLockfile(path: string): ToolcribError {
  const step = 'correct the path, or write it with "toolcrib lock"'
  return new ToolcribError('config-invalid', `lockfile ${path} does not exist; ${step}`)
}

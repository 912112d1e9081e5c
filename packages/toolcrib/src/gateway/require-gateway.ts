import { stat } from 'node:fs/promises'
import { ToolcribError } from '@toolcrib/core'
import { type Config, configDirectory, type Environment, loadConfig } from '@toolcrib/mcp'
import { findWithFlags } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { shellWord } from '../terminal/text.ts'
import { RunningGateway } from './running-gateway.ts'

/** The config files of a gateway, and the gateways that run on them. */
export interface SoughtGateway {
  readonly files: readonly string[]
  /** The one that others can use comes first; one over stdio only serves the client that started it. */
  readonly running: readonly RunningGateway[]
  /** Config files of other gateways that share one of these files, such as the user's. */
  readonly others: readonly string[]
}

/** The running gateways of the config, at least one. Throws `source-unavailable` when there is none. */
export async function requireGateways(
  terminal: Terminal,
  flags: ServerFlags,
  step?: string,
): Promise<readonly [RunningGateway, ...RunningGateway[]]> {
  const sought = await seekGateways(terminal, flags)
  const [first, ...others] = sought.running
  if (first) return [first, ...others]
  throw noGateway(sought, step)
}

/**
 * Looks for the running gateways of the config. The content of the config files does not matter: a gateway keeps running
 * when they become invalid. Throws `config-invalid` if there is neither a gateway nor a config.
 */
export async function seekGateways(terminal: Terminal, flags: ServerFlags): Promise<SoughtGateway> {
  const files = await configFiles(terminal, flags)
  const running = await RunningGateway.allOf({ config: { files } }, terminal.env)
  if (running.length > 0) return { files, running, others: [] }
  const related = await relatedGateways(files, terminal.env)
  const isThere = await Promise.all(files.map(exists))
  // Names the places where a config may be, or the gateways of other configs.
  if (!isThere.includes(true)) await findWithFlags(terminal, flags)
  return { files, running, others: related.flatMap(({ report }) => report.files.slice(-1)) }
}

/** The error when no gateway is running, with the next step. */
export function noGateway(
  { files, others: [other] }: SoughtGateway,
  step = 'start one with "toolcrib serve"',
): ToolcribError {
  const next =
    other === undefined ? step : `a gateway of ${other} is running; add --config ${shellWord(other)}`
  return new ToolcribError('source-unavailable', `no gateway is running for ${files.join(', ')}; ${next}`)
}

/** Makes all gateways of this config read config and lockfiles again, and notes those that did not. */
export async function reloadGateways(
  terminal: Terminal,
  found: { readonly config: Pick<Config, 'files'> },
): Promise<void> {
  const running = await RunningGateway.allOf(found, terminal.env)
  const areReloaded = await Promise.all(running.map((gateway) => gateway.reload()))
  for (const { place } of running.filter((_, at) => !areReloaded[at]))
    terminal.warn(`the gateway ${place} has not read the lockfile; see "toolcrib logs", or restart it`)
}

/** The user's gateways that run on at least one of these files. */
async function relatedGateways(files: readonly string[], env: Environment): Promise<RunningGateway[]> {
  const gateways = await RunningGateway.all(env)
  return gateways.filter(({ report }) => report.files.some((file) => files.includes(file)))
}

/** The paths of the config files, which are not read. A file that the user names need not exist. */
async function configFiles({ cwd, env }: Terminal, flags: ServerFlags): Promise<readonly string[]> {
  const path = flags.config ?? env.TOOLCRIB_CONFIG
  const isNamed = path !== undefined && path !== ''
  const userDirectory = configDirectory(env)
  const { files } = await loadConfig({
    cwd,
    // Other variables are settings, which may be invalid too.
    env: {},
    ...(isNamed ? { path } : {}),
    ...(userDirectory === undefined ? {} : { userDirectory }),
    readFile: async (file) => {
      if (!isNamed) await stat(file)
      return file.endsWith('.toml') ? '' : '{}'
    },
  })
  return files
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

import { stat } from 'node:fs/promises'
import { ToolcribError } from 'toolcrib'
import { configDirectory, loadConfig } from 'toolcrib/mcp'
import type { ServerFlags } from './flags.ts'
import { RunningGateway } from './running-gateway.ts'
import type { Terminal } from './terminal.ts'
import { findWithFlags } from './with-registry.ts'

/** The config files of a gateway, and the gateway if it is running. */
export interface SoughtGateway {
  readonly files: readonly string[]
  readonly running: RunningGateway | undefined
}

/** The running gateway of the config. Throws `source-unavailable` when there is none. */
export async function requireGateway(
  terminal: Terminal,
  flags: ServerFlags,
  step?: string,
): Promise<RunningGateway> {
  const { files, running } = await seekGateway(terminal, flags)
  if (running) return running
  throw noGateway(files, step)
}

/**
 * Looks for the running gateway of the config. What the config files contain does not matter: a gateway keeps running when
 * they become invalid. Throws `config-invalid` when there is neither a gateway nor a config.
 */
export async function seekGateway(terminal: Terminal, flags: ServerFlags): Promise<SoughtGateway> {
  const files = await configFiles(terminal, flags)
  const running = await RunningGateway.find({ config: { files } }, terminal.env)
  const isThere = await Promise.all(files.map(exists))
  // Names the places where a config may be, or the gateways of other configs.
  if (!running && !isThere.includes(true)) await findWithFlags(terminal, flags)
  return { files, running }
}

export function noGateway(files: readonly string[], step = 'start one with "toolcrib serve"'): ToolcribError {
  return new ToolcribError('source-unavailable', `no gateway is running for ${files.join(', ')}; ${step}`)
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

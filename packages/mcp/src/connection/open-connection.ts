import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { concealerOf } from '@toolcrib/core/internal'
import type { Environment } from '../config/server-config.ts'
import { connect, LEGACY, type OpenOptions, type OpenRequest } from './connect.ts'
import type { Connection } from './connection.ts'
import { greet, SpeaksBothError } from './stdio/greet.ts'
import { type Launcher, launcherOf } from './stdio/launcher.ts'
import { StdioTransport, type StdioTransportOptions } from './stdio/stdio-transport.ts'

/** Connects over stdio or HTTP, depending on the server's config. */
export async function openConnection(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { type, command } = request.config
  if (type === 'stdio' || (type === undefined && command !== undefined)) return openInTurn(request, options)
  // Loaded lazily: most servers run locally and do not need it.
  const { openHttp } = await import('./http/open-http.ts')
  return openHttp(request, options)
}

/** A launcher that may have to install its server waits until few others do. */
async function openInTurn(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { config, deadline, onInstall, signal } = request
  const launcher = launcherOf(config)
  if (!launcher || !onInstall) return openStdio(request, options, launcher)
  const installed = await options.installs.begin(launcher, { signal, tell: onInstall })
  // The time so far belonged to other servers.
  deadline.restart()
  try {
    return await openStdio(request, options, launcher, installed)
  } finally {
    installed()
  }
}

/**
 * Some old servers exit on the new greeting, and a server may have been upgraded since it was last greeted in the old
 * way. In both cases it is started again and greeted the other way.
 */
async function openStdio(
  request: OpenRequest,
  options: OpenOptions,
  launcher: Launcher | undefined,
  onFirstMessage?: () => void,
): Promise<Connection> {
  const start = (greeted: OpenRequest, greeting: 'auto' | typeof LEGACY) =>
    startAndConnect(greeted, options, { greeting, launcher, onFirstMessage })
  const [first, second] = request.era === 'legacy' ? ([LEGACY, 'auto'] as const) : (['auto', LEGACY] as const)
  try {
    return await start(request, first)
  } catch (error) {
    if (error instanceof SpeaksBothError) return await start({ ...request, era: 'modern' }, 'auto')
    const isAboutEra = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
    if ((!isAboutEra && first === 'auto') || request.signal.aborted || request.deadline.isOver) throw error
    return await start(request, second)
  }
}

async function startAndConnect(
  request: OpenRequest,
  options: OpenOptions,
  { greeting, ...launched }: { readonly greeting: 'auto' | typeof LEGACY } & Launched,
): Promise<Connection> {
  const { command = '', args = [], env: ownEnv, cwd } = request.config
  const started = {
    command,
    args: [...args],
    env: { ...inheritedFrom(options.env), ...ownEnv },
    ...(cwd ? { cwd } : {}),
  }
  const { onWarning, onOutput = () => {} } = request
  // Windows has neither /bin/sh nor process groups; the SDK's transport can find a command there.
  if (options.platform === 'win32') {
    const { HttpTransport } = await import('./http/http-transport.ts')
    const inner = new StdioClientTransport({ ...started, stderr: 'ignore' })
    return connect(new HttpTransport(inner, onWarning), request, options, { greeting })
  }
  const { maxMessageBytes, now } = options
  const conceal = concealerOf(request.config)
  const settings = { ...started, ...launched, maxMessageBytes, onWarning, onOutput, conceal, now }
  const transport = new StdioTransport(settings)
  return connect(transport, request, options, {
    greeting: greeting === 'auto' ? () => greet(transport, request, options) : greeting,
  })
}

type Launched = Pick<StdioTransportOptions, 'launcher' | 'onFirstMessage'>

/** The few variables that every server inherits; exported shell functions are left out. */
function inheritedFrom(env: Environment): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of [...DEFAULT_INHERITED_ENV_VARS, ...NETWORK_PLACES, ...NETWORK_ADDRESSES]) {
    const value = env[name]
    if (value === undefined || value.startsWith('()')) continue
    // An address may contain a user name, a password or a token, which are not meant for every server.
    if (NETWORK_ADDRESSES.includes(name) && /[@?]/.test(value)) continue
    inherited[name] = value
  }
  return inherited
}

// What a server needs in a corporate network to download itself and to reach other hosts. Addresses of Python indexes
// are left out: some have a token in their path.
const inBothCases = (names: readonly string[]) => names.flatMap((name) => [name, name.toLowerCase()])
const NETWORK_ADDRESSES = inBothCases(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NPM_CONFIG_REGISTRY'])
const NETWORK_PLACES = [
  ...inBothCases(['NO_PROXY', 'NPM_CONFIG_CAFILE']),
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

import { isRecord } from '@toolcrib/core/internal'
import { plain } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export const OFFICIAL_REGISTRY = 'https://registry.modelcontextprotocol.io'

const TIMEOUT_MS = 20_000

/** A server as a registry of MCP servers has it, for a config. */
export interface RegistryServer {
  /** A name for the config: the last part of its name there. */
  readonly name: string
  readonly server: Readonly<Record<string, unknown>>
  /** The variables that it needs a value for. */
  readonly variables: readonly string[]
}

/** Whether a text names a server of a registry, such as `io.github.owner/server`, or is its address there. */
export function isRegistryName(text: string): boolean {
  return nameIn(text) !== undefined
}

/** Reads the newest version of a server from a registry. Throws a `UsageError` that says what is wrong. */
export async function readFromRegistry(text: string, registry: string): Promise<RegistryServer> {
  const name = nameIn(text) ?? ''
  const base = URL.canParse(text) ? new URL(text).origin : registry.replace(/\/+$/, '')
  const address = `${base}/v0.1/servers/${encodeURIComponent(name)}/versions/latest`
  const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new UsageError(`the registry ${base} cannot be reached: ${plain(error.message)}`)
  })
  if (!response.ok) throw new UsageError(`${base} has no server "${plain(name)}" (status ${response.status})`)
  const found: unknown = await response.json().catch(() => undefined)
  const detail = isRecord(found) && isRecord(found.server) ? found.server : undefined
  const read = detail && (fromPackage(detail.packages) ?? fromRemote(detail.remotes))
  if (read) return { name: name.split('/').at(-1) ?? name, ...read }
  throw new UsageError(
    `"${plain(name)}" has no package of npm, PyPI or Docker and no remote address; add it with its command`,
  )
}

function nameIn(text: string): string | undefined {
  const named = URL.canParse(text) ? decodeURIComponent(/\/servers\/([^/?#]+)/.exec(text)?.[1] ?? '') : text
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[\w.-]+$/i.test(named) ? named : undefined
}

type Entry = Pick<RegistryServer, 'server' | 'variables'>

/** How each kind of package is started. The version is the one that the registry has. */
const STARTERS: Readonly<
  Record<string, (identifier: string, version: string | undefined) => readonly string[]>
> = {
  npm: (identifier, version) => [
    'npx',
    '-y',
    version === undefined ? identifier : `${identifier}@${version}`,
  ],
  pypi: (identifier, version) => ['uvx', version === undefined ? identifier : `${identifier}==${version}`],
  oci: (identifier) => ['docker', 'run', '-i', '--rm', identifier],
}

function fromPackage(packages: unknown): Entry | undefined {
  for (const one of listOf(packages)) {
    const { registryType, identifier, version, transport, packageArguments, environmentVariables } = one
    const start = STARTERS[String(registryType)]
    const isStdio = !isRecord(transport) || transport.type === 'stdio'
    if (start === undefined || typeof identifier !== 'string' || !isStdio) continue
    const [command, ...args] = start(identifier, typeof version === 'string' ? version : undefined)
    const variables = namesOf(environmentVariables)
    const env = Object.fromEntries(variables.map((name) => [name, `\${${name}}`]))
    return {
      server: {
        command,
        args: [...args, ...listOf(packageArguments).flatMap(argumentOf)],
        ...(variables.length > 0 ? { env } : {}),
      },
      variables,
    }
  }
  return undefined
}

function fromRemote(remotes: unknown): Entry | undefined {
  const remote = listOf(remotes).find(({ url }) => typeof url === 'string' && /^https?:\/\//.test(url))
  if (remote === undefined) return undefined
  const variables = namesOf(remote.headers).map(
    (name) => [name, name.replace(/\W/g, '_').toUpperCase()] as const,
  )
  const headers = Object.fromEntries(variables.map(([name, variable]) => [name, `\${${variable}}`]))
  return {
    server: { url: remote.url, ...(variables.length > 0 ? { headers } : {}) },
    variables: variables.map(([, variable]) => variable),
  }
}

/** Arguments with a value of their own; the others are the user's to write. */
function argumentOf({ type, name, value }: Readonly<Record<string, unknown>>): readonly string[] {
  if (typeof value !== 'string') return []
  return type === 'named' && typeof name === 'string' ? [name, value] : [value]
}

/** What is required, by name. */
function namesOf(given: unknown): readonly string[] {
  return listOf(given).flatMap(({ name, isRequired }) =>
    isRequired === true && typeof name === 'string' ? [name] : [],
  )
}

function listOf(given: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(given) ? given.filter(isRecord) : []
}

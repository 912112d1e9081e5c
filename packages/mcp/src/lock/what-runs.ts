import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '@toolcrib/core/internal'
import type { Environment, ServerConfig } from '../config/server-config.ts'
import { type RunnerCall, runnerCallOf, splitSpec } from './package-runner.ts'

const DOCKER_TIMEOUT_MS = 5_000

export interface RunsOptions {
  readonly env: Environment
  /** The working directory of a server without a `cwd`. */
  readonly cwd: string
}

/**
 * Returns the package or image that a server's command last ran, so that an approval covers exactly that:
 * `some-server@1.4.2` as fetched by npx or uvx, `server@sha256:…` for Docker. Undefined for a command that fetches
 * nothing, for one that names an exact version itself, and when it is unknown. Never throws.
 */
export async function whatRuns(config: ServerConfig, options: RunsOptions): Promise<string | undefined> {
  const call = runnerCallOf(config)
  if (!call || isExact(call)) return undefined
  const cwd = config.cwd ?? options.cwd
  const env = { ...options.env, ...config.env }
  if (call.runner === 'docker') return imageDigest(config.command ?? 'docker', call.spec, env)
  const { name } = splitSpec(call.spec)
  const version =
    call.runner === 'npx' ? await npxVersion(call.spec, name, cwd, env) : await uvxVersion(name, env)
  return version === undefined ? undefined : `${name}@${version}`
}

function isExact({ runner, spec }: RunnerCall): boolean {
  if (runner === 'docker') return spec.includes('@sha256:')
  return /^\d+\.\d+\.\d+/.test(splitSpec(spec).version ?? '') || spec.includes('==')
}

/** npx prefers the version installed in the project; otherwise it caches each request in a folder named by its hash. */
async function npxVersion(
  spec: string,
  name: string,
  cwd: string,
  env: Environment,
): Promise<string | undefined> {
  const cache = env.npm_config_cache ?? (env.HOME && join(env.HOME, '.npm'))
  const key = createHash('sha512').update(spec).digest('hex').slice(0, 16)
  const folders = [cwd, ...(cache ? [join(cache, '_npx', key)] : [])]
  for (const folder of folders) {
    const version = await packageVersion(join(folder, 'node_modules', name, 'package.json'))
    if (version !== undefined) return version
  }
  return undefined
}

async function packageVersion(path: string): Promise<string | undefined> {
  try {
    const data: unknown = JSON.parse(await readFile(path, 'utf8'))
    const version = isRecord(data) ? data.version : undefined
    return typeof version === 'string' && /^\d+\.\d+\.\d+[\w.+-]*$/.test(version) ? version : undefined
  } catch {
    return undefined
  }
}

/** uv unpacks wheels into its cache. With several versions there, it is unknown which of them ran. */
async function uvxVersion(name: string, env: Environment): Promise<string | undefined> {
  const home = env.XDG_CACHE_HOME ?? (env.HOME && join(env.HOME, '.cache'))
  const cache = env.UV_CACHE_DIR ?? (home && join(home, 'uv'))
  if (!cache) return undefined
  const wheels = join(cache, 'archive-v0')
  const prefix = `${name.toLowerCase().replace(/[-_.]+/g, '_')}-`
  const versions = new Set<string>()
  for (const folder of await readdir(wheels).catch(() => [])) {
    for (const entry of await readdir(join(wheels, folder)).catch(() => [])) {
      if (entry.toLowerCase().startsWith(prefix) && entry.endsWith('.dist-info'))
        versions.add(entry.slice(prefix.length, -'.dist-info'.length))
    }
  }
  const [version] = versions
  return versions.size === 1 && /^\d[\w.+!-]*$/.test(version ?? '') ? version : undefined
}

function imageDigest(command: string, image: string, env: Environment): Promise<string | undefined> {
  const args = ['image', 'inspect', '--format', '{{json .RepoDigests}}', image]
  return new Promise((resolve) => {
    const options = { env, timeout: DOCKER_TIMEOUT_MS, encoding: 'utf8' } as const
    execFile(command, args, options, (error, output) => resolve(error ? undefined : readDigest(output)))
  })
}

function readDigest(output: string): string | undefined {
  try {
    const digests: unknown = JSON.parse(output)
    const [first]: unknown[] = Array.isArray(digests) ? digests : []
    return typeof first === 'string' && /^[\w./:-]+@sha256:[0-9a-f]{64}$/.test(first) ? first : undefined
  } catch {
    return undefined
  }
}

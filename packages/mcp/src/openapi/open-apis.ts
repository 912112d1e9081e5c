import { createHash } from 'node:crypto'
import { ToolcribError, type ToolRegistry } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import { networkBackend } from '../capabilities/network.ts'
import type { ApiConfig } from '../config/openapi-config.ts'
import { readLimitedFile } from '../config/read-limited-file.ts'

/** A configured API: how many operations are tools, and why others are not. */
export interface ApiStatus {
  readonly api: string
  readonly operations: number
  readonly failure?: string
}

/** The largest published documents have 15 MB. */
const MAX_BYTES = 64 * 1024 * 1024

/** The APIs of a config as sources of a registry. */
export class ConfiguredApis {
  readonly #registry: ToolRegistry
  #wanted: Readonly<Record<string, ApiConfig>> = {}
  /** What each API was registered from. */
  readonly #registered = new Map<string, { readonly config: string; readonly digest: string }>()

  constructor(registry: ToolRegistry) {
    this.#registry = registry
  }

  /**
   * Registers these in place of the earlier ones. An API whose document cannot be read keeps what it had, unless something
   * else about it changed. Where a lockfile is required, an API needs the hash of its document. Never rejects.
   */
  async open(
    apis: Readonly<Record<string, ApiConfig>> = {},
    { requireLock = false }: { readonly requireLock?: boolean | undefined } = {},
  ): Promise<readonly ApiStatus[]> {
    for (const api of Object.keys(this.#wanted)) if (!Object.hasOwn(apis, api)) this.#forget(api)
    this.#wanted = apis
    return Promise.all(Object.entries(apis).map(([api, config]) => this.#open(api, config, requireLock)))
  }

  async #open(api: string, config: ApiConfig, requireLock: boolean): Promise<ApiStatus> {
    let failure: string | undefined
    try {
      failure = await this.#register(api, config, requireLock)
    } catch (error) {
      failure = describeError(error)
      const isCurrent = this.#wanted[api] === config
      if (isCurrent && this.#registered.get(api)?.config !== JSON.stringify(config)) this.#forget(api)
    }
    const operations = this.#registry.listSchemas().filter((tool) => tool.api === api).length
    return { api, operations, ...(failure === undefined ? {} : { failure }) }
  }

  async #register(api: string, config: ApiConfig, requireLock: boolean): Promise<string | undefined> {
    const { spec, sha256, ...options } = config
    const isRemote = /^https?:\/\//i.test(spec)
    if (sha256 === undefined && requireLock && isRemote)
      throw new ToolcribError('config-invalid', 'require_lock needs "sha256", the hash of its document')
    if (sha256 === undefined && isRemote && options.headers && options.baseUrl === undefined)
      throw new ToolcribError(
        'config-invalid',
        'whoever serves its document could choose where the headers go; add "base_url" or "sha256"',
      )
    const text = isRemote ? await fetchSpec(spec) : await readSpec(spec)
    const digest = createHash('sha256').update(text).digest('hex')
    if (sha256 === undefined && requireLock)
      throw new ToolcribError(
        'config-invalid',
        `require_lock needs the hash of its document; once you have read it, add sha256 = "${digest}"`,
      )
    if (sha256 !== undefined && sha256.toLowerCase() !== digest)
      throw new ToolcribError(
        'definition-changed',
        `${spec} is another document than approved; its SHA-256 is ${digest}`,
      )
    const { registerOpenApi } = await import('./register-openapi.ts')
    const made = { config: JSON.stringify(config), digest }
    // A later config has replaced this one while the document was read.
    if (this.#wanted[api] !== config || JSON.stringify(this.#registered.get(api)) === JSON.stringify(made))
      return undefined
    const { skipped } = registerOpenApi(this.#registry, text, { api, ...options })
    this.#registered.set(api, made)
    const [first] = skipped
    return first && `${skipped.length} operations are left out; "${first.name}": ${first.reason}`
  }

  #forget(api: string): void {
    this.#registered.delete(api)
    this.#registry.syncOpenApi(api, [])
  }
}

async function readSpec(spec: string): Promise<string> {
  return readLimitedFile(spec, MAX_BYTES).catch((error: unknown) => {
    throw new ToolcribError('source-unavailable', `its "spec" cannot be read: ${describeError(error)}`)
  })
}

/** Reads a document from the host that the config names, and from no other. */
async function fetchSpec(spec: string): Promise<string> {
  const { host, hostname } = new URL(spec)
  const network = networkBackend({ hosts: [host], allowPrivate: [hostname], maxBytes: MAX_BYTES })
  const scope = { sessionId: '', signal: new AbortController().signal, attachments: [], context: undefined }
  const response = await (await network.open([host], { ...scope, tool: 'openapi' })).fetch(spec)
  if (!response.ok) throw new ToolcribError('source-unavailable', `${spec} answered ${response.status}`)
  return response.text()
}

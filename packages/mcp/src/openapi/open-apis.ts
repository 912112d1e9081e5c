import { createHash } from 'node:crypto'
import { ToolcribError, type ToolRegistry } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import type { ApiConfig } from '../config/openapi-config.ts'
import { readLimitedFile } from '../config/read-limited-file.ts'

/** A configured API: how many operations are tools, or why none is. */
export interface ApiStatus {
  readonly api: string
  readonly operations: number
  readonly failure?: string
}

/** The largest published documents have 15 MB. */
const MAX_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 30_000

/** The APIs of a config as sources of a registry. */
export class ConfiguredApis {
  readonly #registry: ToolRegistry
  #open: Readonly<Record<string, ApiConfig>> = {}

  constructor(registry: ToolRegistry) {
    this.#registry = registry
  }

  /** Registers these in place of the earlier ones; an API that cannot be read keeps what it had. Never rejects. */
  async open(apis: Readonly<Record<string, ApiConfig>>): Promise<readonly ApiStatus[]> {
    const gone = Object.keys(this.#open).filter((api) => !Object.hasOwn(apis, api))
    for (const api of gone) this.#registry.syncOpenApi(api, [])
    this.#open = apis
    return Promise.all(Object.entries(apis).map(([api, config]) => this.#register(api, config)))
  }

  async #register(api: string, { spec, sha256, ...options }: ApiConfig): Promise<ApiStatus> {
    try {
      const text = await readSpec(spec)
      const digest = createHash('sha256').update(text).digest('hex')
      if (sha256 !== undefined && sha256.toLowerCase() !== digest)
        throw new ToolcribError(
          'definition-changed',
          `${spec} is another document than approved; its SHA-256 is ${digest}`,
        )
      const { registerOpenApi } = await import('./register-openapi.ts')
      const { skipped } = registerOpenApi(this.#registry, text, { api, ...options })
      const operations = this.#registry.listSchemas().filter((tool) => tool.api === api).length
      const [first] = skipped
      const failure = first && `${skipped.length} operations are left out; "${first.name}": ${first.reason}`
      return { api, operations, ...(failure === undefined ? {} : { failure }) }
    } catch (error) {
      return { api, operations: 0, failure: describeError(error) }
    }
  }
}

async function readSpec(spec: string): Promise<string> {
  if (!/^https?:\/\//i.test(spec)) return readLimitedFile(spec, MAX_BYTES)
  const response = await fetch(spec, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new ToolcribError('source-unavailable', `${spec} answered ${response.status}`)
  return response.text()
}

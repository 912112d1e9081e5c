import type { Store } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'

/**
 * Records in the store which calls wait for an answer of their client. The calls themselves end with their process; the
 * record lets another process report that a call was lost. If the store fails, only that report is missing.
 */
export class ParkedRecords {
  readonly #store: Store | undefined
  readonly #limits: Pick<Limits, 'askTimeoutMs'>

  constructor(store: Store | undefined, limits: Pick<Limits, 'askTimeoutMs'>) {
    this.#store = store
    this.#limits = limits
  }

  async add(id: string): Promise<void> {
    await this.#store?.set(keyOf(id), true, { ttlMs: this.#limits.askTimeoutMs }).catch(() => {})
  }

  async remove(id: string): Promise<void> {
    await this.#store?.delete(keyOf(id)).catch(() => {})
  }

  async has(id: string): Promise<boolean> {
    const record = await this.#store?.get(keyOf(id)).catch(() => undefined)
    return record !== undefined
  }
}

function keyOf(id: string): string {
  return `gateway:parked:${id}`
}

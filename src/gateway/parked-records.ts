import type { Store } from 'toolcrib/stores'
import type { Limits } from './gateway-options.ts'

/**
 * Which calls wait for an answer of their client, in the store. The calls themselves end with their process: their
 * record is how another process knows that a call was lost, and can say so. A store that fails costs that, and nothing
 * else.
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

import { randomBytes } from 'node:crypto'
import { memoryStore, type Store, ToolcribError } from '@toolcrib/core'
import { anyList, anyObject, checkOptions, type OptionRules, objectWith } from '@toolcrib/core/internal'
import { limitsOf, type ScriptLimits } from './limits.ts'
import { Scripts } from './runner.ts'

export interface ScriptsOptions {
  /** Keeps paused scripts, for other processes too. In memory by default. */
  readonly store?: Store
  /** 32 secret bytes that encrypt paused scripts. Needed with a store; every process that continues scripts has the same. */
  readonly key?: Uint8Array
  /** Earlier keys: scripts that were paused with one of them can still go on. */
  readonly formerKeys?: readonly Uint8Array[]
  readonly limits?: Partial<ScriptLimits>
}

const OPTIONS: OptionRules<ScriptsOptions> = {
  store: objectWith('get', 'set', 'update', 'delete'),
  key: anyObject,
  formerKeys: anyList,
  limits: anyObject,
}

const KEY_BYTES = 32

/**
 * Programs that the model writes over its tools, each in a sandbox of its own, for `new ToolRegistry({ scripts: scripts() })`.
 * Throws `config-invalid` for an unknown option, and for a store without a key.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from '@toolcrib/core'
 * import { scripts } from '@toolcrib/scripts'
 *
 * const registry = new ToolRegistry({ scripts: scripts({ limits: { maxCalls: 200 } }) })
 * console.log(registry.size)
 * ```
 */
export function scripts(options: ScriptsOptions = {}): Scripts {
  checkOptions('scripts()', options, OPTIONS)
  const { store, key, formerKeys = [] } = options
  if (store !== undefined && key === undefined)
    throw invalid('with a store it needs a key of 32 bytes, which every process that continues scripts has')
  const keys = [key ?? randomBytes(KEY_BYTES), ...formerKeys]
  if (!keys.every((one) => one instanceof Uint8Array && one.length === KEY_BYTES))
    throw invalid(`a key is a Uint8Array of ${KEY_BYTES} bytes`)
  return new Scripts(store ?? memoryStore(), keys, limitsOf(options.limits))
}

function invalid(reason: string): ToolcribError {
  return new ToolcribError('config-invalid', `scripts(): ${reason}`)
}

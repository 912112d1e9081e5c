import { describeError } from './errors.ts'
import type { Snapshot } from './registry/catalogue.ts'
import type { Entry } from './registry/entry.ts'
import {
  type CompiledPolicy,
  checkNames,
  checkPolicy,
  compilePolicy,
  type ToolFilter,
} from './registry/policy.ts'
import { denialOf } from './registry/viewer.ts'

/** Which gate keeps a tool, or a meta-tool, from being shown and called. */
export type CallGate = Pick<CompiledPolicy, 'denial' | 'denialOfMetaTool'>

/** The lists that one call of the registry adds to its policy; absent or null permits all. */
export interface GateLists {
  readonly allowedTools: readonly string[] | null | undefined
  readonly filter: ToolFilter | null | undefined
}

/** The registry's policy over a snapshot, narrowed by these lists. Throws `config-invalid` for lists that are none. */
export function openGate(
  snapshot: Snapshot,
  policy: CompiledPolicy,
  { allowedTools, filter }: GateLists,
): CallGate {
  const denial = (entry: Entry) => denialOf(entry, snapshot, policy)
  const { denialOfMetaTool } = policy
  if ((allowedTools ?? filter ?? undefined) === undefined) return { denial, denialOfMetaTool }
  checkNames(allowedTools ?? undefined, 'allowedTools')
  const given = filter ? { filter } : {}
  checkPolicy(given)
  const narrower = compilePolicy({ ...given, allowedTools: allowedTools ?? undefined })
  return {
    denial: (entry) => denial(entry) ?? narrower.denial(entry),
    denialOfMetaTool: (name) => denialOfMetaTool(name) ?? narrower.denialOfMetaTool(name),
  }
}

/** The same, where nothing may throw: lists that cannot be read permit nothing, and the answers say why. */
export function openGateOrNone(...given: Parameters<typeof openGate>): CallGate {
  try {
    return openGate(...given)
  } catch (error) {
    const reason = describeError(error)
    return { denial: () => reason, denialOfMetaTool: () => reason }
  }
}

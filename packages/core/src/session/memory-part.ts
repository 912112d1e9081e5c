import { canonicalJson, hashText } from '../json.ts'
import { isMetaTool } from '../names.ts'
import type { Policy } from '../registry/policy.ts'
import type { ContextMemory, UsageMemory } from '../search/memory/usage-memory.ts'
import type { SessionSettings } from './settings.ts'

/** The part of a memory that settings give access to: what was learned under another policy has no influence. */
export function memoryPart({
  memory,
  policy,
  allowlists,
  searcher,
}: Pick<SessionSettings, 'policy' | 'allowlists' | 'searcher'> & {
  readonly memory: UsageMemory
}): ContextMemory {
  const embedder = searcher.embedderName ?? ''
  return memory.under(hashText(canonicalJson([tellingPart(policy), allowlists, embedder])))
}

/** Which meta-tools are hidden, and a filter of nothing, say nothing about the tools that may be found. */
function tellingPart({ deny = [], filter = {}, ...policy }: Policy): Policy {
  const denied = deny.filter((name) => !isMetaTool(name))
  return {
    ...policy,
    ...(denied.length === 0 ? {} : { deny: denied }),
    ...(Object.keys(filter).length === 0 ? {} : { filter }),
  }
}

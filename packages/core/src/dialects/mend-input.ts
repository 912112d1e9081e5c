import type OpenAI from 'openai'
import { CallIds } from './mend-history.ts'
import type { Namespace, Namespaces } from './namespaces.ts'

type Item = OpenAI.Responses.ResponseInputItem

interface Known {
  /** Whether a function is shown, and needs no namespace. */
  shows(name: string): boolean
  /** The current namespace of each deferred tool. */
  readonly namespaces: Namespaces
}

/**
 * Makes call ids unique, and every call in the input resolvable. A replayed call without its namespace, or whose `tool_search_output` was
 * lost in a compaction, fails every later request. The namespace is restored, and tools that nothing loads any more
 * are returned as `missing`, to be declared.
 */
export function mendInput(
  messages: readonly Item[],
  tools: Known,
): { input: Item[]; missing: readonly Namespace[] } {
  const loaded = new Map<string, string>()
  const missing = new Map<string, Set<string>>()
  const input = withOwnIds(messages).map((item): Item => {
    if (item.type === 'tool_search_output') {
      for (const [name, namespace] of membersOf(item.tools)) loaded.set(name, namespace)
      return item
    }
    if (item.type !== 'function_call') return item
    if (loaded.has(item.name)) {
      const namespace = item.namespace ?? loaded.get(item.name)
      return namespace === undefined || item.namespace !== undefined ? item : { ...item, namespace }
    }
    if (item.namespace === undefined && tools.shows(item.name)) return item
    const home = item.namespace ?? tools.namespaces.homeOf(item.name)?.name
    if (home === undefined) return item
    missing.set(home, (missing.get(home) ?? new Set()).add(item.name))
    return item.namespace === undefined ? { ...item, namespace: home } : item
  })
  return { input, missing: [...missing].map(([name, members]) => declare(name, members, tools.namespaces)) }
}

function withOwnIds(items: readonly Item[]): Item[] {
  const ids = new CallIds()
  return items.map((item) => {
    // The provider's own searches have no id.
    if ('execution' in item && item.execution === 'server') return item
    if (item.type === 'function_call' || item.type === 'tool_search_call')
      return withCallId(item, ids.ofCall(item.call_id ?? ''))
    if (item.type === 'function_call_output' || item.type === 'tool_search_output')
      return withCallId(item, ids.ofResult(item.call_id ?? ''))
    return item
  })
}

function withCallId(item: Item & { call_id?: string | null }, call_id: string): Item {
  return (item.call_id ?? '') === call_id ? item : ({ ...item, call_id } as Item)
}

function membersOf(tools: readonly OpenAI.Responses.Tool[]): [string, string][] {
  return tools.flatMap((tool) =>
    tool.type === 'namespace' ? tool.tools.map(({ name }): [string, string] => [name, tool.name]) : [],
  )
}

function declare(name: string, members: ReadonlySet<string>, namespaces: Namespaces): Namespace {
  return {
    name,
    description: namespaces.named(name)?.description ?? 'Tools called earlier',
    tools: [...members].map(
      (member) =>
        namespaces.homeOf(member)?.tools.find((tool) => tool.name === member) ?? {
          name: member,
          description: 'No longer available.',
          parameters: { type: 'object', properties: {} },
        },
    ),
  }
}

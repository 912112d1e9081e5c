import type OpenAI from 'openai'
import type { Namespace } from './namespaces.ts'

type Item = OpenAI.Responses.ResponseInputItem

interface Known {
  /** Names of the shown functions, which need no namespace. */
  readonly shown: ReadonlySet<string>
  /** The current namespace of each deferred tool. */
  readonly namespaces: readonly Namespace[]
}

/**
 * Makes every call in the input resolvable. A replayed call without its namespace, or whose `tool_search_output` was
 * lost in a compaction, fails every later request. The namespace is restored, and tools that nothing loads any more
 * are returned as `missing`, to be declared.
 */
export function mendNamespaces(
  messages: readonly Item[],
  { shown, namespaces }: Known,
): { input: Item[]; missing: readonly Namespace[] } {
  const loaded = new Map<string, string>()
  const missing = new Map<string, Set<string>>()
  const input = messages.map((item): Item => {
    if (item.type === 'tool_search_output') {
      for (const [name, namespace] of membersOf(item.tools)) loaded.set(name, namespace)
      return item
    }
    if (item.type !== 'function_call') return item
    if (loaded.has(item.name)) {
      const namespace = item.namespace ?? loaded.get(item.name)
      return namespace === undefined || item.namespace !== undefined ? item : { ...item, namespace }
    }
    if (item.namespace === undefined && shown.has(item.name)) return item
    const home = item.namespace ?? homeOf(item.name, namespaces)
    if (home === undefined) return item
    missing.set(home, (missing.get(home) ?? new Set()).add(item.name))
    return item.namespace === undefined ? { ...item, namespace: home } : item
  })
  return { input, missing: [...missing].map(([name, members]) => declare(name, members, namespaces)) }
}

function membersOf(tools: readonly OpenAI.Responses.Tool[]): [string, string][] {
  return tools.flatMap((tool) =>
    tool.type === 'namespace' ? tool.tools.map(({ name }): [string, string] => [name, tool.name]) : [],
  )
}

function homeOf(name: string, namespaces: readonly Namespace[]): string | undefined {
  return namespaces.find(({ tools }) => tools.some((tool) => tool.name === name))?.name
}

function declare(name: string, members: ReadonlySet<string>, namespaces: readonly Namespace[]): Namespace {
  const known = new Map(namespaces.flatMap(({ tools }) => tools).map((tool) => [tool.name, tool]))
  return {
    name,
    description:
      namespaces.find((namespace) => namespace.name === name)?.description ?? 'Tools called earlier',
    tools: [...members].map(
      (member) =>
        known.get(member) ?? {
          name: member,
          description: 'No longer available.',
          parameters: { type: 'object', properties: {} },
        },
    ),
  }
}

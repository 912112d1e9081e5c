import { WireNames } from './wire-names.ts'
import type { WireTool } from './wire-tools.ts'

/** A group of deferred tools, as OpenAI has them. */
export interface Namespace {
  readonly name: string
  readonly description: string
  readonly tools: readonly WireTool[]
}

/** Models search namespaces of fewer than ten tools best. */
const MAX_TOOLS = 9

/**
 * Deferred tools in namespaces, one for each server, or several when it has many tools. The grouping depends on the
 * catalogue alone, never on what is active.
 */
export function toNamespaces(tools: readonly WireTool[]): readonly Namespace[] {
  const groups = new Map<string, WireTool[]>()
  for (const tool of tools) {
    const group = groupOf(tool.name)
    const members = groups.get(group)
    if (members) members.push(tool)
    else groups.set(group, [tool])
  }
  const parts = [...groups].flatMap(([group, members]) => split(group, members))
  // Over all of them, so that no two share a name even where one had to be shortened.
  const names = new WireNames(parts.map(({ name }) => name))
  return parts.map((part) => ({ ...part, name: names.toWire(part.name) }))
}

function split(group: string, members: readonly WireTool[]): Namespace[] {
  const count = Math.ceil(members.length / MAX_TOOLS)
  return Array.from({ length: count }, (_, index) => {
    const part = count === 1 ? '' : ` (${index + 1} of ${count})`
    return {
      // No group has two underscores inside: there its server's name would have ended.
      name: index === 0 ? group : `${group}__${index + 1}`,
      description: `Tools of ${group.replace(/^mcp__/, '')}${part}`,
      tools: members.slice(index * MAX_TOOLS, (index + 1) * MAX_TOOLS),
    }
  })
}

/** What a name starts with. It only decides which tools are grouped, so a wrong guess is harmless. */
function groupOf(name: string): string {
  const server = /^mcp__(.+?)__/.exec(name)?.[1]
  return server === undefined ? 'tools' : `mcp__${server}`
}

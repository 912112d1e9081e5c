import { WireNames } from './wire-names.ts'
import type { WireTool } from './wire-tools.ts'

/** A group of deferred tools in OpenAI's format. */
export interface Namespace {
  readonly name: string
  readonly description: string
  readonly tools: readonly WireTool[]
}

/** Models search best in namespaces with fewer than ten tools. */
const MAX_TOOLS = 9

/**
 * Groups deferred tools in namespaces, one per server, or several for a server with many tools. The grouping depends
 * only on the catalogue, never on activations.
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
  // Computed over all names, so that they stay unique when shortened.
  const names = new WireNames(parts.map(({ name }) => name))
  return parts.map((part) => ({ ...part, name: names.toWire(part.name) }))
}

function split(group: string, members: readonly WireTool[]): Namespace[] {
  const count = Math.ceil(members.length / MAX_TOOLS)
  return Array.from({ length: count }, (_, index) => {
    const part = count === 1 ? '' : ` (${index + 1} of ${count})`
    return {
      // A group never contains a double underscore, since the server's name would have ended there.
      name: index === 0 ? group : `${group}__${index + 1}`,
      description: `Tools of ${group.replace(/^mcp__/, '')}${part}`,
      tools: members.slice(index * MAX_TOOLS, (index + 1) * MAX_TOOLS),
    }
  })
}

/** The prefix of a name. It only groups tools, so a wrong guess is harmless. */
function groupOf(name: string): string {
  const server = /^mcp__(.+?)__/.exec(name)?.[1]
  return server === undefined ? 'tools' : `mcp__${server}`
}

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
 * only on the catalogue, never on activations. Computed once for each list: many requests need it, of many sessions.
 */
export class Namespaces {
  /** In the order of their first tools. */
  readonly all: readonly Namespace[]
  readonly #byName: ReadonlyMap<string, Namespace>
  /** The namespaces of each group. */
  readonly #byGroup = new Map<string, readonly Namespace[]>()

  constructor(tools: readonly WireTool[]) {
    const groups = new Map<string, WireTool[]>()
    let group = ''
    let members: WireTool[] = []
    for (const tool of tools) {
      // Most tools follow another of their server.
      if (members.length === 0 || groupOf(tool.name) !== group) {
        group = groupOf(tool.name)
        members = groups.get(group) ?? []
        groups.set(group, members)
      }
      members.push(tool)
    }
    const parts = [...groups].map(([name, each]) => [name, split(name, each)] as const)
    // Computed over all names, so that they stay unique when shortened.
    const names = new WireNames(parts.flatMap(([, each]) => each.map(({ name }) => name)))
    for (const [name, each] of parts)
      this.#byGroup.set(
        name,
        each.map((part) => ({ ...part, name: names.toWire(part.name) })),
      )
    this.all = [...this.#byGroup.values()].flat()
    this.#byName = new Map(this.all.map((namespace) => [namespace.name, namespace]))
  }

  static of(tools: readonly WireTool[]): Namespaces {
    const known = KNOWN.get(tools) ?? new Namespaces(tools)
    KNOWN.set(tools, known)
    return known
  }

  named(name: string): Namespace | undefined {
    return this.#byName.get(name)
  }

  /** The namespace of a tool. */
  homeOf(tool: string): Namespace | undefined {
    const namespaces = this.#byGroup.get(groupOf(tool)) ?? []
    return namespaces.find(({ tools }) => tools.some(({ name }) => name === tool))
  }
}

const KNOWN = new WeakMap<readonly WireTool[], Namespaces>()

function split(group: string, members: readonly WireTool[]): Namespace[] {
  const count = Math.ceil(members.length / MAX_TOOLS)
  return Array.from({ length: count }, (_, index) => {
    const part = count === 1 ? '' : ` (${index + 1} of ${count})`
    return {
      // A group never contains a double underscore, since the server's name would have ended there.
      name: index === 0 ? group : `${group}__${index + 1}`,
      description: `Tools of ${group.replace(/^(mcp|openapi)__/, '')}${part}`,
      tools: members.slice(index * MAX_TOOLS, (index + 1) * MAX_TOOLS),
    }
  })
}

/** The prefix of a name. It only groups tools, so a wrong guess is harmless. */
function groupOf(name: string): string {
  return /^(?:mcp|openapi)__.+?(?=__)/.exec(name)?.[0] ?? 'tools'
}

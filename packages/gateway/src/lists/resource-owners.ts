import type { Listed } from './server-lists.ts'

/** The most templates of one server that count: each is compared with every URI. */
const MAX_TEMPLATES = 1_000

interface Template {
  readonly key: string
  /** Its literal parts before the first variable and after the last. */
  readonly start: string
  readonly end: string
}

/**
 * Decides which server a URI belongs to. Servers claim the URIs that they list, and those that match their templates.
 * Of different claims, that of the server that comes first in the config wins: nothing that a later server lists takes
 * over the URIs of an earlier one. Equal claims, to the same URI or by the same template, are not decided.
 */
export class ResourceOwners {
  readonly #servers: readonly string[]
  readonly #listing = new Map<string, Set<string>>()
  readonly #templates = new Map<string, Template[]>()

  /** `servers` are in the order of the config. */
  constructor(
    servers: readonly string[],
    { resources, templates }: { resources: readonly Listed[]; templates: readonly Listed[] },
  ) {
    this.#servers = servers
    for (const { server, key } of resources) {
      const listing = this.#listing.get(key)
      if (listing) listing.add(server)
      else this.#listing.set(key, new Set([server]))
    }
    for (const { server, key } of templates) {
      const own = this.#templates.get(server)
      if (!own) this.#templates.set(server, [readTemplate(key)])
      else if (own.length < MAX_TEMPLATES) own.push(readTemplate(key))
    }
  }

  /** The server that a URI or a template belongs to; several if they claim it equally, none if nobody does. */
  of(uri: string): readonly string[] {
    const listing = this.#listing.get(uri)
    const claimants = this.#servers.flatMap((server) => {
      const isListed = listing?.has(server) === true
      if (!isListed && !this.#templates.has(server)) return []
      const claims = [...(isListed ? [uri] : []), ...this.#shapes(server, uri)]
      return claims.length > 0 ? [{ server, claims }] : []
    })
    const [first] = claimants
    const owners = claimants.filter(({ claims }) => claims.some((claim) => first?.claims.includes(claim)))
    return owners.map(({ server }) => server)
  }

  /** The templates of a server that a URI matches, without the names of their variables. */
  #shapes(server: string, uri: string): readonly string[] {
    const templates = (this.#templates.get(server) ?? []).filter(
      (template) => template.key === uri || fits(uri, template),
    )
    return templates.map(({ key }) => key.replace(/\{[^}]*\}/g, '{}'))
  }
}

function readTemplate(key: string): Template {
  const at = key.indexOf('{')
  return {
    key,
    start: at < 0 ? key : key.slice(0, at),
    end: key.slice(key.lastIndexOf('}') + 1),
  }
}

/** Whether a URI can match a template: it starts and ends with the template's literal parts. */
function fits(uri: string, { start, end }: Template): boolean {
  return (
    start.includes(':') &&
    uri.length >= start.length + end.length &&
    uri.startsWith(start) &&
    uri.endsWith(end)
  )
}

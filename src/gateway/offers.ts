import type { ClientLine } from './client-line.ts'
import type { NameStyle } from './gateway-options.ts'
import { INVALID_PARAMS, isJson, type Json, RpcError, textParam } from './json-rpc.ts'
import type { ProfileView } from './profile-view.ts'
import type { Listed, ListKind, ListReader, ServerLists } from './server-lists.ts'
import { prefixedName } from './tool-names.ts'
import type { Upstream } from './upstream.ts'

/** A prompt or resource of a server, by the server's own name. */
export interface Offer {
  readonly server: string
  readonly key: string
}

/**
 * Prompts, resources, templates and completions of all servers. Prompts are named as tools are. A resource keeps its
 * URI, which results of tools quote, unless two servers list the same one: then it is `<server>+<uri>`.
 */
export class Offers {
  readonly #lists: ServerLists
  readonly #upstream: Upstream
  readonly #names: NameStyle

  constructor(lists: ServerLists, upstream: Upstream, names: NameStyle) {
    this.#lists = lists
    this.#upstream = upstream
    this.#names = names
  }

  async list(kind: ListKind, reader: ListReader): Promise<Json> {
    const listed = await this.#lists.collect(kind, reader)
    const field = kind === 'prompts' ? 'name' : kind === 'resources' ? 'uri' : 'uriTemplate'
    const owners = countKeys(listed)
    const shown = listed.map((one) => ({ ...one.item, [field]: this.#shown(kind, one, owners) }))
    return { [kind]: shown }
  }

  async getPrompt(params: Json, view: ProfileView, line: ClientLine): Promise<Json> {
    const { server, key } = await this.#prompt(textParam('prompts/get', params, 'name'), { view, line })
    return this.#upstream.send(server, { method: 'prompts/get', params: { ...params, name: key } }, line)
  }

  async readResource(params: Json, view: ProfileView, line: ClientLine): Promise<Json> {
    const { server, key } = await this.resource(textParam('resources/read', params, 'uri'), { view, line })
    return this.#upstream.send(server, { method: 'resources/read', params: { ...params, uri: key } }, line)
  }

  async complete(params: Json, view: ProfileView, line: ClientLine): Promise<Json> {
    const ref = isJson(params.ref) ? params.ref : {}
    const isPrompt = ref.type === 'ref/prompt'
    const { server, key } = isPrompt
      ? await this.#prompt(textParam('a completion', ref, 'name'), { view, line })
      : await this.resource(textParam('a completion', ref, 'uri'), { view, line })
    if (!this.#lists.offering('completions', view).includes(server))
      return { completion: { values: [], hasMore: false } }
    const own = { ...ref, [isPrompt ? 'name' : 'uri']: key }
    return this.#upstream.send(
      server,
      { method: 'completion/complete', params: { ...params, ref: own } },
      line,
    )
  }

  /** The server that a URI belongs to. Throws if there is none, or more than one. */
  async resource(uri: string, reader: ListReader): Promise<Offer> {
    const { view } = reader
    const spelled = this.#lists.offering('resources', view).find((server) => uri.startsWith(`${server}+`))
    if (spelled !== undefined) return { server: spelled, key: uri.slice(spelled.length + 1) }
    const find = () => this.#findResource(uri, reader)
    const found = find() ?? (await this.#lists.refresh(['resources', 'resourceTemplates'], reader).then(find))
    if (found) return found
    const [only, ...others] = this.#lists.offering('resources', view)
    if (only !== undefined && others.length === 0) return { server: only, key: uri }
    throw new RpcError(INVALID_PARAMS, `Resource not found: ${uri.slice(0, 500)}`, { uri })
  }

  /** Forgets what a session that ended was offered over its private connections. */
  forget(owner: string): void {
    this.#lists.forget(owner)
  }

  #findResource(uri: string, reader: ListReader): Offer | undefined {
    const owners = this.#lists.known('resources', reader).filter(({ key }) => key === uri)
    const [owner, ...others] = owners
    if (owner && others.length > 0) {
      const spellings = owners.map(({ server }) => `${server}+${uri}`).join(', ')
      throw new RpcError(INVALID_PARAMS, `several servers have this resource; read one of ${spellings}`, {
        uri,
      })
    }
    if (owner) return owner
    const templates = this.#lists.known('resourceTemplates', reader)
    const fitting = templates.filter(({ key }) => key === uri || fits(uri, key))
    // The template with the longest literal beginning wins: a server cannot take the URIs of others with a template that
    // matches everything.
    const best = fitting.sort(
      (one, other) => literalStart(other.key).length - literalStart(one.key).length,
    )[0]
    return best && { server: best.server, key: uri }
  }

  async #prompt(name: string, reader: ListReader): Promise<Offer> {
    const find = () => this.#findPrompt(name, reader)
    const found = find() ?? (await this.#lists.refresh(['prompts'], reader).then(find))
    if (found) return found
    throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${name.slice(0, 200)}`)
  }

  #findPrompt(name: string, reader: ListReader): Offer | undefined {
    const known = this.#lists.known('prompts', reader)
    const exact = known.find(({ server, key }) => prefixedName(server, key) === name)
    if (exact) return exact
    const [owner, ...others] = known.filter(({ key }) => key === name)
    return others.length === 0 ? owner : undefined
  }

  #shown(kind: ListKind, { server, key }: Listed, owners: ReadonlyMap<string, number>): string {
    const isUnique = owners.get(key) === 1
    if (kind === 'prompts') return this.#names === 'plain' && isUnique ? key : prefixedName(server, key)
    return isUnique ? key : `${server}+${key}`
  }
}

/** How often each key is listed. */
function countKeys(listed: readonly Listed[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { key } of listed) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** Whether a URI can match a template: it starts and ends with the template's literal parts. */
function fits(uri: string, template: string): boolean {
  const start = literalStart(template)
  const end = template.slice(template.lastIndexOf('}') + 1)
  return (
    start.includes(':') &&
    uri.startsWith(start) &&
    uri.endsWith(end) &&
    uri.length >= start.length + end.length
  )
}

function literalStart(template: string): string {
  const at = template.indexOf('{')
  return at < 0 ? template : template.slice(0, at)
}

import type { ClientLine } from '../asks/client-line.ts'
import type { Upstream } from '../calls/upstream.ts'
import type { NameStyle } from '../gateway-options.ts'
import { INVALID_PARAMS, isJson, type Json, RpcError, textParam } from '../json-rpc.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { ResourceOwners } from './resource-owners.ts'
import type { Listed, ListKind, ListReader, ServerLists } from './server-lists.ts'
import { prefixedName } from './tool-names.ts'

/** A prompt or resource of a server, by the server's own name. */
export interface OwnedItem {
  readonly server: string
  readonly key: string
}

/**
 * Prompts, resources, templates and completions of all servers. Prompts are named as tools are. A resource keeps its
 * URI, which results of tools quote, if that belongs to its server alone; otherwise it is `<server>+<uri>`.
 */
export class PromptsAndResources {
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
    if (kind === 'prompts') {
      const owners = countKeys(listed)
      return { prompts: listed.map((one) => ({ ...one.item, name: this.#shownPrompt(one, owners) })) }
    }
    await this.#lists.ensure(RESOURCE_KINDS, reader)
    const owners = this.#owners(reader)
    const field = kind === 'resources' ? 'uri' : 'uriTemplate'
    const shown = listed.map((one) => ({ ...one.item, [field]: this.#shownUri(one, owners, reader) }))
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
  async resource(uri: string, reader: ListReader): Promise<OwnedItem> {
    const spelled = this.#spelled(uri, reader)
    if (spelled !== undefined) return { server: spelled, key: uri.slice(spelled.length + 1) }
    const [only, ...others] = this.#lists.offering('resources', reader.view)
    if (only !== undefined && others.length === 0) return { server: only, key: uri }
    const isNew = await this.#lists.ensure(RESOURCE_KINDS, reader)
    const find = () => this.#findResource(uri, reader)
    const found = find() ?? (isNew ? undefined : await this.#lists.refresh(RESOURCE_KINDS, reader).then(find))
    if (found) return found
    throw new RpcError(INVALID_PARAMS, `Resource not found: ${uri.slice(0, 500)}`, { uri })
  }

  /** Forgets what a session that ended was offered over its private connections. */
  forget(owner: string): void {
    this.#lists.forget(owner)
  }

  #findResource(uri: string, reader: ListReader): OwnedItem | undefined {
    const [server, ...others] = this.#owners(reader, uri).of(uri)
    if (server === undefined) return undefined
    if (others.length === 0) return { server, key: uri }
    const spellings = [server, ...others].map((owner) => `${owner}+${uri}`).join(', ')
    throw new RpcError(INVALID_PARAMS, `several servers have this resource; read one of ${spellings}`, {
      uri,
    })
  }

  /** With `uri`, only for that one. */
  #owners(reader: ListReader, uri?: string): ResourceOwners {
    const listed = this.#lists.known('resources', reader)
    return new ResourceOwners(this.#lists.offering('resources', reader.view), {
      resources: uri === undefined ? listed : listed.filter(({ key }) => key === uri),
      templates: this.#lists.known('resourceTemplates', reader),
    })
  }

  /** The server that a URI of the form `<server>+<uri>` names. */
  #spelled(uri: string, { view }: ListReader): string | undefined {
    return this.#lists.offering('resources', view).find((server) => uri.startsWith(`${server}+`))
  }

  async #prompt(name: string, reader: ListReader): Promise<OwnedItem> {
    const find = () => this.#findPrompt(name, reader)
    const found = find() ?? (await this.#lists.refresh(['prompts'], reader).then(find))
    if (found) return found
    throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${name.slice(0, 200)}`)
  }

  #findPrompt(name: string, reader: ListReader): OwnedItem | undefined {
    const known = this.#lists.known('prompts', reader)
    const exact = known.find(({ server, key }) => prefixedName(server, key) === name)
    if (exact) return exact
    const [owner, ...others] = known.filter(({ key }) => key === name)
    return others.length === 0 ? owner : undefined
  }

  #shownPrompt({ server, key }: Listed, owners: ReadonlyMap<string, number>): string {
    return this.#names === 'plain' && owners.get(key) === 1 ? key : prefixedName(server, key)
  }

  /** The URI or template itself if it leads to its server. */
  #shownUri({ server, key }: Listed, owners: ResourceOwners, reader: ListReader): string {
    const [owner, ...others] = owners.of(key)
    const isOwn = owner === server && others.length === 0 && this.#spelled(key, reader) === undefined
    return isOwn ? key : `${server}+${key}`
  }
}

const RESOURCE_KINDS = ['resources', 'resourceTemplates'] as const

/** How often each key is listed. */
function countKeys(listed: readonly Listed[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { key } of listed) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

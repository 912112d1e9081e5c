import { ToolcribError } from '@toolcrib/core'
import { isRecord, matcher, nearestName, RefusingNames } from '@toolcrib/core/internal'
import type { Node, OpenApiDocument } from './document.ts'

/** One operation of an API, before it becomes a tool. */
export interface Operation {
  /** The name of its tool: the `operationId`, in letters that names may have. */
  readonly name: string
  /** As the document has it, or made of method and path. */
  readonly id: string
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly node: Node
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly node: Node
}

/** Which operations become tools, and which headers the host sends itself. */
export interface OperationFilter {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const
const PLACES: readonly unknown[] = ['path', 'query', 'header', 'cookie'] satisfies Parameter['in'][]

/** The operations of a document but deprecated ones, in its order. Throws `config-invalid` for a rule that matches none. */
export function operationsOf(
  document: OpenApiDocument,
  { allow, deny, headers = {} }: OperationFilter = {},
): readonly Operation[] {
  const taken = new Set<string>()
  const isHidden = credentialsOf(document, headers)
  const all: Operation[] = []
  for (const [path, item] of Object.entries(document.root.paths as Node)) {
    // Anything else would be joined to the host's name.
    if (!path.startsWith('/')) continue
    const node = document.resolve(item) ?? {}
    for (const method of METHODS) {
      const operation = document.resolve(node[method])
      if (operation === undefined || operation.deprecated === true) continue
      const id = typeof operation.operationId === 'string' ? operation.operationId : `${method} ${path}`
      all.push({
        name: freeName(id, taken),
        id,
        method,
        path,
        tags: Array.isArray(operation.tags) ? operation.tags.filter((tag) => typeof tag === 'string') : [],
        parameters: parametersOf(document, node, operation).filter((parameter) => !isHidden(parameter)),
        node: operation,
      })
    }
  }
  const isAllowed = allow?.map((rule) => ruleTest(rule, all, 'allow'))
  const isDenied = deny?.map((rule) => ruleTest(rule, all, 'deny')) ?? []
  return all.filter(
    (operation) =>
      isAllowed?.some((test) => test(operation)) !== false && !isDenied.some((test) => test(operation)),
  )
}

function freeName(id: string, taken: Set<string>): string {
  const name = id.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|_+$/g, '') || 'operation'
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}_${count}`
    if (taken.has(free.toLowerCase())) continue
    taken.add(free.toLowerCase())
    return free
  }
}

/** Those of the path and the operation's own, which replace them. */
function parametersOf(document: OpenApiDocument, path: Node, operation: Node): readonly Parameter[] {
  const byKey = new Map<string, Parameter>()
  for (const given of [path.parameters, operation.parameters].flat()) {
    const node = document.resolve(given)
    if (typeof node?.name !== 'string' || !PLACES.includes(node.in)) continue
    const place = node.in as Parameter['in']
    byKey.set(`${place} ${node.name}`, { name: node.name, in: place, node })
  }
  return [...byKey.values()]
}

/** Headers that are sent anyway, and what the document declares as credentials: no model fills these. */
function credentialsOf(
  document: OpenApiDocument,
  headers: Readonly<Record<string, string>>,
): (parameter: Pick<Parameter, 'name' | 'in'>) => boolean {
  const { components } = document.root
  const schemes = isRecord(components) ? document.resolve(components.securitySchemes) : undefined
  const keys = Object.values(schemes ?? {}).flatMap((given) => {
    const scheme = document.resolve(given)
    return scheme?.type === 'apiKey' ? [`${scheme.in} ${scheme.name}`.toLowerCase()] : []
  })
  const sent = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const isSent = (name: string) =>
    sent.has(name.toLowerCase()) || /^(accept|content-type|authorization|cookie|host)$/i.test(name)
  return ({ name, in: place }) =>
    keys.includes(`${place} ${name}`.toLowerCase()) ||
    (place === 'header' && isSent(name)) ||
    (place === 'cookie' && sent.has('cookie'))
}

/** Reads `issues/*`, `tag:billing` or `GET /repos/*`. */
function ruleTest(
  rule: string,
  all: readonly Operation[],
  list: 'allow' | 'deny',
): (operation: Operation) => boolean {
  const fold = (text: string) => text.toLowerCase()
  const matches = matcher([fold(rule.replace(/^tag:/i, ''))])
  const refused = list === 'deny' ? new RefusingNames([rule]) : undefined
  const test = ({ id, name, method, path, tags }: Operation): boolean => {
    if (/^tag:/i.test(rule)) return tags.some((tag) => matches(fold(tag)))
    if (/^[a-z]+ \//i.test(rule)) return matches(fold(`${method} ${path}`))
    return matches(fold(id)) || matches(fold(name)) || refused?.hasName(name) === true
  }
  if (all.some(test)) return test
  const nearest = nearestName(rule, [
    ...all.map(({ id }) => id),
    ...all.flatMap(({ tags }) => tags.map((tag) => `tag:${tag}`)),
  ])
  const hint =
    nearest === undefined
      ? 'write an operationId, "tag:NAME" or "GET /path", with * for any text'
      : `did you mean "${nearest}"?`
  throw new ToolcribError('config-invalid', `${list} "${rule}" matches no operation of the API; ${hint}`)
}

import { isRecord } from '../json.ts'
import { isRef, MAX_ADDRESS_CHARS, type SchemaNode, type SchemaPart } from './keywords.ts'

export interface ResolvedRefs {
  readonly targets: ReadonlyMap<SchemaNode, SchemaPart>
  /** Descriptions of a few references that have no target or form a cycle. */
  readonly dangling: readonly string[]
}

/** Base URI of schemas without an `$id`. Nothing is ever fetched. */
const HOME = 'https://schema.invalid/'
const MAX_TOLD = 5

/**
 * Finds the target of each `$ref` in a prepared schema: a JSON pointer, an `$anchor` or an `$id` within the schema
 * itself. `$recursiveRef` and `$dynamicRef` are resolved statically. A reference without a target is ignored.
 */
export function resolveRefs(root: SchemaPart): ResolvedRefs {
  const resources = new Map<string, SchemaNode>()
  const anchors = new Map<string, SchemaNode>()
  const refs: { node: SchemaNode; ref: string; base: string }[] = []
  if (isRecord(root)) collect(root, HOME)
  const targets = new Map<SchemaNode, SchemaPart>()
  for (const { node, ref, base } of refs) {
    const target = find(ref, base)
    if (target !== undefined) targets.set(node, target)
  }
  const lost = refs.filter(({ node }) => !leadsSomewhere(node, targets))
  for (const { node } of lost) targets.delete(node)
  const dangling = [...new Set(lost.map(({ ref }) => `$ref ${ref} has no target`))].slice(0, MAX_TOLD)
  return { targets, dangling }

  function collect(node: SchemaNode, outer: string): void {
    const id = typeof node.$id === 'string' ? node.$id : undefined
    const isResource = id !== undefined && !id.startsWith('#')
    const own = isResource ? withoutFragment(resolve(id, outer)) : outer
    const base = own.length <= MAX_ADDRESS_CHARS ? own : outer
    if (isResource || node === root) resources.set(base, node)
    // In draft 7 an `$id` with only a fragment is an anchor.
    for (const anchor of [node.$anchor, node.$dynamicAnchor, isResource ? undefined : id?.slice(1)]) {
      if (typeof anchor === 'string') anchors.set(`${base}#${anchor}`, node)
    }
    const ref = node.$ref ?? node.$dynamicRef ?? node.$recursiveRef
    if (typeof ref === 'string') refs.push({ node, ref, base })
    for (const [keyword, value] of Object.entries(node)) {
      if (keyword !== 'enum' && keyword !== 'const') collectInside(value, base)
    }
  }

  function collectInside(value: unknown, base: string): void {
    if (isRecord(value)) collect(value, base)
    else if (Array.isArray(value)) for (const item of value) collectInside(item, base)
  }

  function find(ref: string, base: string): SchemaPart | undefined {
    const address = resolve(ref, base)
    const resource = resources.get(withoutFragment(address))
    if (resource === undefined) return undefined
    const fragment = decode(address.slice(withoutFragment(address).length + 1))
    if (fragment === '') return resource
    if (!fragment.startsWith('/')) return anchors.get(`${withoutFragment(address)}#${fragment}`)
    return byPointer(resource, fragment)
  }
}

/** The schema that a JSON pointer leads to. */
export function byPointer(root: SchemaNode, pointer: string): SchemaPart | undefined {
  let current: unknown = root
  for (const segment of pointer.slice(1).split('/')) {
    const key = segment.replace(/~1/g, '/').replace(/~0/g, '~')
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Record<string, unknown>)[key]
  }
  return typeof current === 'boolean' || isRecord(current) ? current : undefined
}

const MAX_HOPS = 100

function leadsSomewhere(node: SchemaNode, targets: ReadonlyMap<SchemaNode, SchemaPart>): boolean {
  let current: SchemaPart | undefined = node
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    if (!isRecord(current) || !isRef(current)) return current !== undefined
    current = targets.get(current)
  }
  return false
}

function resolve(ref: string, base: string): string {
  return URL.canParse(ref, base) ? new URL(ref, base).href : ref
}

function withoutFragment(address: string): string {
  return address.replace(/#.*$/s, '')
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

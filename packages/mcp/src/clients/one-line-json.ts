import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

/**
 * Sets a value in an object that is written on one line, and keeps it on one line, with the same spacing. The parser's
 * own editor would reformat the whole object. Returns undefined for an object over several lines, and for an empty one
 * in a text of several lines.
 */
export function setOnOneLine(text: string, path: readonly string[], value: unknown): string | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true })
  if (!root?.children?.length) return undefined
  const { parent, rest } = deepestObject(root, path)
  if (parent.type !== 'object' || rest.length === 0 || !isOneLine(text, parent)) return undefined
  const last = parent.children?.at(-1)
  if (!last && text.trim().includes('\n')) return undefined
  const style = styleOf(text, last ? [parent, root] : [root])
  const written = write(wrapped(value, rest.slice(1)), style)
  const existing = rest.length === 1 ? findNodeAtLocation(parent, [rest[0] ?? '']) : undefined
  if (existing) return replaced(text, existing.offset, endOf(existing), written)
  const property = `${JSON.stringify(rest[0])}:${style.colon}${written}`
  if (!last) return replaced(text, parent.offset, endOf(parent), `{${style.pad}${property}${style.pad}}`)
  const end = endOf(last)
  // After a trailing comma there is no right place.
  const hasTrailingComma = text.slice(end, endOf(parent)).includes(',')
  return hasTrailingComma ? undefined : replaced(text, end, end, style.comma + property)
}

/** The innermost existing object on the path, and the remaining keys. */
function deepestObject(root: Node, path: readonly string[]): { parent: Node; rest: readonly string[] } {
  for (let depth = path.length - 1; depth > 0; depth--) {
    const parent = findNodeAtLocation(root, path.slice(0, depth))
    if (parent) return { parent, rest: path.slice(depth) }
  }
  return { parent: root, rest: path }
}

function isOneLine(text: string, { offset, length }: Node): boolean {
  return !text.slice(offset, offset + length).includes('\n')
}

/** The spacing after a colon, between properties, and inside braces. */
interface Style {
  readonly colon: string
  readonly comma: string
  readonly pad: string
}

/** The style of the first object with a property, and of the first with two, which need not be the same. */
function styleOf(text: string, nodes: readonly Node[]): Style {
  const objects = nodes.flatMap(objectsIn).filter((object) => isOneLine(text, object))
  const [first] = objects.flatMap(({ children = [] }) => children.slice(0, 1))
  const value = first?.children?.[1]
  const colon = value && text.slice((first?.colonOffset ?? value.offset - 1) + 1, value.offset)
  const comma = objects.flatMap(({ children: [one, two] = [] }) =>
    one && two ? [text.slice(endOf(one), two.offset)] : [],
  )[0]
  const pad = first?.parent && text.slice(first.parent.offset + 1, first.offset)
  return { colon: colon ?? ' ', comma: comma ?? (colon === '' ? ',' : ', '), pad: pad ?? '' }
}

function objectsIn(node: Node): Node[] {
  const inner = (node.children ?? []).flatMap(objectsIn)
  return node.type === 'object' && node.children?.length ? [node, ...inner] : inner
}

function wrapped(value: unknown, keys: readonly string[]): unknown {
  return keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

function write(value: unknown, style: Style): string {
  const { colon, comma, pad } = style
  if (Array.isArray(value)) return `[${value.map((each) => write(each, style)).join(comma)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  if (entries.length === 0) return '{}'
  const properties = entries.map(([key, each]) => `${JSON.stringify(key)}:${colon}${write(each, style)}`)
  return `{${pad}${properties.join(comma)}${pad}}`
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

function replaced(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to)
}

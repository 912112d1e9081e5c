import { ToolcribError } from '@toolcrib/core'
import { describeError, isRecord, parseJson } from '@toolcrib/core/internal'
import { parse as parseYaml } from 'yaml'

/** A node of a document. */
export type Node = Readonly<Record<string, unknown>>

/** More references in a row are a cycle. */
const MAX_HOPS = 50

/** An OpenAPI 3 document. References are resolved when they are read, and only within the document. */
export class OpenApiDocument {
  readonly root: Node

  private constructor(root: Node) {
    this.root = root
  }

  /** Throws `config-invalid` for anything but OpenAPI 3.0 or later, as JSON, as YAML or parsed. */
  static read(document: unknown): OpenApiDocument {
    const root = typeof document === 'string' ? parse(document) : document
    if (!isRecord(root)) throw unreadable('it is not an object')
    if (root.swagger !== undefined)
      throw unreadable(
        `it is Swagger ${root.swagger}; convert it to OpenAPI 3, for example with swagger2openapi`,
      )
    if (typeof root.openapi !== 'string' || !/^3\.\d/.test(root.openapi))
      throw unreadable('it has no "openapi" version 3')
    if (!isRecord(root.paths)) throw unreadable('it has no "paths"')
    return new OpenApiDocument(root)
  }

  /** The node itself, or what its reference points at; undefined for anything else. */
  resolve(node: unknown): Node | undefined {
    let at = node
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      if (!isRecord(at)) return undefined
      if (typeof at.$ref !== 'string') return at
      at = this.#target(at.$ref)
    }
    return undefined
  }

  #target(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined
    return pointerParts(reference).reduce<unknown>(
      (at, part) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
      this.root,
    )
  }
}

/** The parts of `#/components/schemas/a~1b`, decoded. */
export function pointerParts(reference: string): readonly string[] {
  return reference
    .slice(2)
    .split('/')
    .map((part) => decoded(part).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function parse(text: string): unknown {
  const json = parseJson(text)
  if (json !== undefined) return json
  try {
    // A document may not unfold a few lines into gigabytes.
    return parseYaml(text, { maxAliasCount: 1_000 })
  } catch (error) {
    throw unreadable(describeError(error))
  }
}

function unreadable(reason: string): ToolcribError {
  return new ToolcribError('config-invalid', `the OpenAPI document cannot be read: ${reason}`)
}

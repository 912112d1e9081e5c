import { describeError } from '../errors.ts'
import { isRecord, setOwn } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { isRef, isTexts, LISTS, MAPS, SCHEMAS, type SchemaNode, type SchemaPart, SHAPES } from './keywords.ts'
import type { TextTest } from './linear-pattern.ts'
import type { ResolvedRefs } from './resolve-refs.ts'

export const NOT_LOADED = 'loadRareChecks() was not called'

/** What is loaded for schemas with rare keywords. */
export type RareChecks = typeof import('./rare-checks.ts')

/** A schema copied into a form that is safe and cheap to evaluate. */
export interface PreparedSchema {
  readonly root: SchemaPart
  readonly draft: Draft
  /** The target of each `$ref`. */
  readonly targets: ReadonlyMap<SchemaNode, SchemaPart>
  /** The tests for `pattern` and for the keys of `patternProperties`. */
  readonly tests: ReadonlyMap<SchemaNode, TextTest>
  readonly keyTests: ReadonlyMap<SchemaNode, readonly KeyTest[]>
  readonly rare: RareChecks | undefined
  /** The values of each `enum`. */
  readonly choices: ReadonlyMap<SchemaNode, Choices>
  /** Whether `unevaluatedProperties` or `unevaluatedItems` occurs anywhere. */
  readonly hasUnevaluated: boolean
  /** Parts of the schema that cannot be evaluated. They are ignored. */
  readonly faults: readonly string[]
}

export type Draft = '4' | '7' | '2019-09' | '2020-12'

interface KeyTest {
  readonly test: TextTest
  readonly part: SchemaPart
}

interface Choices {
  readonly scalars: ReadonlySet<unknown>
  readonly structures: readonly object[]
}

const MAX_DEPTH = 256
const MAX_NODES = 50_000
const MAX_FAULTS = 5
const MAX_PATTERN_WEIGHT = 2_000
const MAX_SCHEMA_PATTERN_WEIGHT = 20_000

const NO_REFS: ResolvedRefs = { targets: new Map(), dangling: [] }

/**
 * Copies a schema without the parts that cannot be evaluated: malformed keywords, an empty `enum`, patterns that are
 * invalid or too expensive, unresolved references. Throws if the schema is cyclic, too deep or too large.
 */
export function prepareSchema(schema: JsonSchema, rare?: RareChecks): PreparedSchema {
  const draft = draftOf(schema)
  const faults: string[] = []
  const tests = new Map<SchemaNode, TextTest>()
  const keyTests = new Map<SchemaNode, KeyTest[]>()
  const choices = new Map<SchemaNode, Choices>()
  let hasUnevaluated = false
  let hasRefs = false
  let nodes = 0
  let patternWeight = 0
  const root = copy(schema, '#', 0) ?? true
  const { targets, dangling } = hasRefs ? loaded().resolveRefs(root) : NO_REFS
  faults.push(...dangling)
  return { root, draft, targets, tests, keyTests, rare, choices, hasUnevaluated, faults }

  function copy(value: unknown, at: string, depth: number): SchemaPart | undefined {
    if (typeof value === 'boolean') return value
    if (!isRecord(value)) return undefined
    if (depth > MAX_DEPTH) throw new Error(`it is cyclic or more than ${MAX_DEPTH} levels deep`)
    if (++nodes > MAX_NODES) throw new Error(`it has more than ${MAX_NODES} parts`)
    const node: SchemaNode = {}
    for (const [keyword, nested] of Object.entries(value)) {
      if (nested === undefined || keyword.startsWith('__')) continue
      const copied = copyKeyword(keyword, nested, `${at}/${keyword}`, depth + 1)
      if (copied !== undefined) node[keyword] = copied
    }
    readKeywords(node, at)
    return node
  }

  function copyKeyword(keyword: string, value: unknown, at: string, depth: number): unknown {
    if (MAPS.has(keyword)) return copyMap(value, at, depth)
    if (keyword === 'dependencies') return copyDependencies(value, at, depth)
    if (LISTS.has(keyword) || (keyword === 'items' && Array.isArray(value))) return copyList(value, at, depth)
    const hasShape = SHAPES[keyword]
    if (hasShape !== undefined) return hasShape(value) ? value : reject(at, 'has an invalid value')
    if (IGNORED.has(keyword)) return undefined
    // A $ref may point to any other object.
    const copied = copy(value, at, depth)
    return copied === undefined && SCHEMAS.has(keyword) ? reject(at, 'is not a schema') : copied
  }

  function copyMap(value: unknown, at: string, depth: number): SchemaNode | undefined {
    if (!isRecord(value)) return reject(at, 'is not an object')
    const map: SchemaNode = {}
    for (const [name, nested] of Object.entries(value)) {
      const copied = copy(nested, `${at}/${name}`, depth)
      if (copied === undefined) reject(`${at}/${name}`, 'is not a schema')
      else if (name === '__proto__') setOwn(map, name, copied)
      else map[name] = copied
    }
    return map
  }

  function copyDependencies(value: unknown, at: string, depth: number): SchemaNode | undefined {
    if (!isRecord(value)) return reject(at, 'is not an object')
    const entries = Object.entries(value).map(([name, nested]) => [
      name,
      isTexts(nested) ? nested : (copy(nested, `${at}/${name}`, depth) ?? true),
    ])
    return Object.fromEntries(entries)
  }

  function copyList(value: unknown, at: string, depth: number): unknown[] | undefined {
    if (!Array.isArray(value) || value.length === 0) return reject(at, 'is not a non-empty list of schemas')
    return value.map((item, index) => copy(item, `${at}/${index}`, depth) ?? true)
  }

  /** Precomputes what would be too expensive to compute for each instance. */
  function readKeywords(node: SchemaNode, at: string): void {
    if (isRef(node)) hasRefs = true
    if ('format' in node || 'uniqueItems' in node || 'multipleOf' in node) loaded()
    if ('unevaluatedProperties' in node || 'unevaluatedItems' in node) hasUnevaluated = true
    if (Array.isArray(node.enum)) choices.set(node, sortChoices(node.enum))
    if (typeof node.pattern === 'string') {
      const test = compilePattern(node.pattern, `${at}/pattern`)
      if (test !== undefined) tests.set(node, test)
    }
    if (isRecord(node.patternProperties)) keyTests.set(node, readKeyTests(node.patternProperties, at))
  }

  function readKeyTests(parts: SchemaNode, at: string): KeyTest[] {
    return Object.entries(parts).flatMap(([pattern, part]) => {
      const test = compilePattern(pattern, `${at}/patternProperties`)
      return test === undefined ? [] : [{ test, part: part as SchemaPart }]
    })
  }

  function compilePattern(pattern: string, at: string): TextTest | undefined {
    const weight = weigh(pattern)
    patternWeight += weight
    if (weight > MAX_PATTERN_WEIGHT || patternWeight > MAX_SCHEMA_PATTERN_WEIGHT) {
      return reject(at, 'is too large')
    }
    const { linearPattern } = loaded()
    try {
      return linearPattern(pattern)
    } catch (thrown) {
      return reject(at, `cannot be evaluated safely (${describeError(thrown)})`)
    }
  }

  function loaded(): RareChecks {
    if (rare === undefined) throw new Error(NOT_LOADED)
    return rare
  }

  function reject(at: string, reason: string): undefined {
    if (faults.length < MAX_FAULTS) faults.push(`${at.slice(0, 120)} ${reason}`)
    return undefined
  }
}

// Linear time is linear in the pattern too, and a counted repetition expands to its full length.
function weigh(pattern: string): number {
  let weight = pattern.length
  for (const [, least = '', most = ''] of pattern.matchAll(/\{(\d{1,9}),?(\d{0,9})\}/g)) {
    weight += Number(most === '' ? least : most)
  }
  return weight
}

function sortChoices(values: readonly unknown[]): Choices {
  const isStructure = (value: unknown): value is object => typeof value === 'object' && value !== null
  return {
    scalars: new Set(values.filter((value) => !isStructure(value))),
    structures: values.filter(isStructure),
  }
}

function draftOf(schema: JsonSchema): Draft {
  const named = isRecord(schema) && typeof schema.$schema === 'string' ? schema.$schema : ''
  if (/draft-0?4/.test(named)) return '4'
  if (/draft-0?[67]/.test(named)) return '7'
  return named.includes('2019-09') ? '2019-09' : '2020-12'
}

/** Keywords that assert nothing. */
const IGNORED = new Set([
  'id',
  '$schema',
  '$comment',
  '$vocabulary',
  'title',
  'description',
  'default',
  'examples',
])

import type { SchemaDraft } from '@cfworker/json-schema'
import { setOwn } from '../copy-json.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { InstanceCheck, type InstanceParts, type TextTest } from './instance-check.ts'
import { linearPattern } from './linear-pattern.ts'

/** A schema copied into a form that is safe and cheap to evaluate. */
export interface PreparedSchema {
  readonly root: boolean | SchemaNode
  readonly draft: SchemaDraft
  /** Where `patternProperties` stand: their keys are made anew for each instance. */
  readonly patternMaps: readonly PatternMap[]
  /** Whether any `InstanceCheck` stands in it. */
  readonly hasOwnChecks: boolean
  /** What the schema says that cannot be evaluated. It constrains nothing. */
  readonly faults: readonly string[]
}

export interface SchemaNode {
  [keyword: string]: unknown
}

export interface PatternMap {
  /** The copy's `patternProperties`. */
  readonly live: SchemaNode
  readonly entries: readonly { readonly test: TextTest; readonly schema: unknown }[]
}

export interface PrepareOptions {
  readonly parts: InstanceParts
  /** Called whenever a `$ref` is followed. */
  readonly onRef: () => void
}

const MAX_DEPTH = 256
const MAX_NODES = 50_000
const MAX_FAULTS = 5
const MAX_PATTERN_WEIGHT = 2_000
const MAX_SCHEMA_PATTERN_WEIGHT = 20_000

/**
 * Copies a schema, and leaves out what cannot be evaluated: keywords of a wrong shape, an empty `enum`, patterns
 * that are broken or might take exponential time. Throws when the schema is cyclic, too deep or too large.
 */
export function prepareSchema(schema: JsonSchema, options: PrepareOptions): PreparedSchema {
  const draft = draftOf(schema)
  const faults: string[] = []
  const patternMaps: PatternMap[] = []
  let hasOwnChecks = false
  let nodes = 0
  let patternWeight = 0
  const root = copy(schema, '#', 0)
  return { root: root ?? true, draft, patternMaps, hasOwnChecks, faults }

  function copy(value: unknown, at: string, depth: number): boolean | SchemaNode | undefined {
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
    if (typeof node.$ref === 'string') countRefs(node, node.$ref, options.onRef)
    takeOverChecks(node, at)
    return node
  }

  function copyKeyword(keyword: string, value: unknown, at: string, depth: number): unknown {
    if (keyword === 'patternProperties') return copyPatternProperties(value, at, depth)
    if (MAPS.has(keyword)) return copyMap(value, at, depth)
    if (keyword === 'dependencies') return copyDependencies(value, at, depth)
    if (LISTS.has(keyword) || (keyword === 'items' && Array.isArray(value))) return copyList(value, at, depth)
    const hasShape = SHAPES[keyword]
    if (hasShape !== undefined) return hasShape(value) ? value : reject(at, 'has a wrong shape')
    if (IGNORED.has(keyword)) return undefined
    // Whatever else is an object may be where a $ref points to.
    const copied = copy(value, at, depth)
    return copied === undefined && SCHEMAS.has(keyword) ? reject(at, 'is no schema') : copied
  }

  function copyMap(value: unknown, at: string, depth: number): SchemaNode | undefined {
    if (!isRecord(value)) return reject(at, 'is no object')
    const map: SchemaNode = {}
    for (const [name, nested] of Object.entries(value)) {
      const copied = copy(nested, `${at}/${name}`, depth)
      if (copied === undefined) reject(`${at}/${name}`, 'is no schema')
      else if (name === '__proto__') setOwn(map, name, copied)
      else map[name] = copied
    }
    return map
  }

  function copyDependencies(value: unknown, at: string, depth: number): SchemaNode | undefined {
    if (!isRecord(value)) return reject(at, 'is no object')
    const entries = Object.entries(value).map(([name, nested]) => [
      name,
      isTexts(nested) ? nested : (copy(nested, `${at}/${name}`, depth) ?? true),
    ])
    return Object.fromEntries(entries)
  }

  function copyList(value: unknown, at: string, depth: number): unknown[] | undefined {
    if (!Array.isArray(value) || value.length === 0) return reject(at, 'is no list of schemas')
    return value.map((item, index) => copy(item, `${at}/${index}`, depth) ?? true)
  }

  function copyPatternProperties(value: unknown, at: string, depth: number): SchemaNode | undefined {
    const live = copyMap(value, at, depth)
    if (live === undefined) return undefined
    const entries = Object.entries(live).flatMap(([pattern, schema]) => {
      const test = compilePattern(pattern, at)
      return test === undefined ? [] : [{ test, schema }]
    })
    patternMaps.push({ live, entries })
    return live
  }

  // The validator would hand patterns to the platform's regular expressions, and compare each item with each other.
  function takeOverChecks(node: SchemaNode, at: string): void {
    const { pattern: source, uniqueItems: isUnique } = node
    delete node.pattern
    delete node.uniqueItems
    const test = typeof source === 'string' ? compilePattern(source, `${at}/pattern`) : undefined
    if (test === undefined && isUnique !== true) return
    hasOwnChecks = true
    const pattern = test && { source: String(source), test }
    const values = node.enum as readonly unknown[] | undefined
    node.enum = new InstanceCheck({ pattern, isUnique: isUnique === true, values }, options.parts)
  }

  function compilePattern(pattern: string, at: string): TextTest | undefined {
    const weight = weigh(pattern)
    patternWeight += weight
    if (weight > MAX_PATTERN_WEIGHT || patternWeight > MAX_SCHEMA_PATTERN_WEIGHT) {
      return reject(at, 'is too large a pattern')
    }
    try {
      return linearPattern(pattern)
    } catch (thrown) {
      return reject(at, `cannot be evaluated safely (${describeError(thrown)})`)
    }
  }

  function reject(at: string, reason: string): undefined {
    if (faults.length < MAX_FAULTS) faults.push(`${at.slice(0, 120)} ${reason}`)
    return undefined
  }
}

// Linear time is linear in the pattern too, and a counted repetition is as long as what it stands for.
function weigh(pattern: string): number {
  let weight = pattern.length
  for (const [, least = '', most = ''] of pattern.matchAll(/\{(\d{1,9}),?(\d{0,9})\}/g)) {
    weight += Number(most === '' ? least : most)
  }
  return weight
}

// Following references is the one way for a small schema to cost a lot, so it is counted where it happens.
function countRefs(node: SchemaNode, ref: string, onRef: () => void): void {
  const get = () => {
    onRef()
    return ref
  }
  Object.defineProperty(node, '$ref', { get, enumerable: true, configurable: true })
}

function draftOf(schema: JsonSchema): SchemaDraft {
  const named = isRecord(schema) && typeof schema.$schema === 'string' ? schema.$schema : ''
  if (/draft-0?4/.test(named)) return '4'
  if (/draft-0?[67]/.test(named)) return '7'
  return named.includes('2019-09') ? '2019-09' : '2020-12'
}

const TYPES = new Set<unknown>(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
const isNumber = (value: unknown) => typeof value === 'number'
const isCount = (value: unknown) => typeof value === 'number' && value >= 0
const isText = (value: unknown) => typeof value === 'string'
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText)
const isFlag = (value: unknown) => typeof value === 'boolean'
const isBound = (value: unknown) => isNumber(value) || isFlag(value)
const isAnchor = (value: unknown) =>
  typeof value === 'string' && URL.canParse(value, 'https://schema.invalid/')

/** The keywords that hold plain values, and what those must look like. */
const SHAPES: { readonly [keyword: string]: (value: unknown) => boolean } = {
  __proto__: null as never,
  $ref: isAnchor,
  $id: isAnchor,
  $anchor: isText,
  $recursiveRef: (value) => value === '#',
  $recursiveAnchor: isFlag,
  type: (value) =>
    TYPES.has(value) || (Array.isArray(value) && value.length > 0 && value.every((t) => TYPES.has(t))),
  const: () => true,
  enum: (value) => Array.isArray(value) && value.length > 0,
  required: isTexts,
  dependentRequired: (value) => isRecord(value) && Object.values(value).every(isTexts),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isBound,
  exclusiveMaximum: isBound,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: isFlag,
  pattern: isText,
  // The validator's test for `url` takes exponential time on some texts.
  format: (value) => isText(value) && value !== 'url',
}
const MAPS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const SCHEMAS = new Set([
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'additionalItems',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
])
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

import { hasMoreKeys, isRecord, MAX_TEXT_KEYS, parseJson } from '../json.ts'
import type { WorkBudget } from '../time.ts'
import { isOfType } from './assertions.ts'
import type { CompiledSchema } from './compiled-schema.ts'

/** Deeper than any real arguments; recursion in the schema stops here. */
const MAX_DEPTH = 64
/** Work is counted in units of about 5 ns. */
const STEP_COST = 60
const ENTRY_COST = 60

/**
 * Corrects common mistakes of models where nothing is lost: `"3"` for a number, `"true"` for a boolean, JSON in a
 * string for an object or array, a single value for a list, null for an omitted optional property. Values that the
 * schema accepts are unchanged, as is everything after the budget runs out.
 */
export function coerce(args: unknown, schema: CompiledSchema, budget: WorkBudget): unknown {
  return coerceTo(args, schema.root, 0)

  function coerceTo(value: unknown, part: unknown, depth: number): unknown {
    const node = schema.resolve(part)
    budget.spend(STEP_COST)
    if (!isRecord(node) || depth > MAX_DEPTH || budget.left < 0) return value
    let current = value
    const alternatives = node.anyOf ?? node.oneOf
    if (Array.isArray(alternatives)) current = coerceToOneOf(current, alternatives, depth)
    if (Array.isArray(node.allOf)) {
      for (const branch of node.allOf) current = coerceTo(current, branch, depth + 1)
    }
    const types = typesOf(node)
    if (types.length > 0 && !types.some((type) => isOfType(current, type))) {
      current = convert(current, types, node, depth)
    }
    if (Array.isArray(current)) return coerceItems(current, node, depth)
    return isRecord(current) ? coerceProperties(current, node, depth) : current
  }

  function coerceToOneOf(value: unknown, alternatives: readonly unknown[], depth: number): unknown {
    if (alternatives.some((branch) => schema.accepts(branch, value, budget))) return value
    for (const branch of alternatives) {
      const coerced = coerceTo(value, branch, depth + 1)
      if (coerced !== value && schema.accepts(branch, coerced, budget)) return coerced
    }
    return value
  }

  function convert(value: unknown, types: readonly string[], node: Node, depth: number): unknown {
    if (typeof value === 'string') {
      for (const type of types) {
        budget.spend(value.length)
        const read = readText(value, type)
        if (read !== undefined) return read
      }
    }
    if (!types.includes('array') || value === null) return value
    const item = coerceTo(value, node.items, depth + 1)
    return node.items === undefined || schema.accepts(node.items, item, budget) ? [item] : value
  }

  function coerceItems(items: readonly unknown[], node: Node, depth: number): unknown[] {
    const tuple = [node.prefixItems, node.items].find((candidate) => Array.isArray(candidate)) ?? []
    const rest = Array.isArray(node.items) ? node.additionalItems : node.items
    budget.spend(items.length * ENTRY_COST)
    return items.map((item, index) => coerceTo(item, tuple[index] ?? rest, depth + 1))
  }

  function coerceProperties(record: Node, node: Node, depth: number): Node {
    const properties = isRecord(node.properties) ? node.properties : {}
    const required: readonly unknown[] = Array.isArray(node.required) ? node.required : []
    const entries: [string, unknown][] = []
    budget.spend(Object.keys(record).length * ENTRY_COST)
    for (const [key, value] of Object.entries(record)) {
      const part = Object.hasOwn(properties, key) ? properties[key] : node.additionalProperties
      const isLeftOut =
        value === null && isOptional(part) && !required.includes(key) && !schema.accepts(part, null, budget)
      if (!isLeftOut) entries.push([key, coerceTo(value, part, depth + 1)])
    }
    return Object.fromEntries(entries)
  }
}

type Node = Record<string, unknown>

// A property that the schema forbids is a different mistake, which is reported.
function isOptional(part: unknown): boolean {
  return part !== undefined && part !== false
}

function typesOf(node: Record<string, unknown>): readonly string[] {
  if (typeof node.type === 'string') return [node.type]
  return Array.isArray(node.type) ? node.type : []
}

function readText(text: string, type: string): unknown {
  if (type === 'boolean') return readBoolean(text)
  if (type === 'number' || type === 'integer') {
    const number = readNumber(text)
    return type === 'integer' && !Number.isInteger(number) ? undefined : number
  }
  if (type === 'null') return text === 'null' ? null : undefined
  if (type !== 'object' && type !== 'array') return undefined
  const parsed = hasMoreKeys(text, MAX_TEXT_KEYS) ? undefined : parseJson(text)
  return isOfType(parsed, type) ? parsed : undefined
}

function readBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  if (lower === 'true') return true
  return lower === 'false' ? false : undefined
}

// JSON's number grammar: "0x10", "", " ", "007" and "1_000" stay strings, though Number() accepts them.
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function readNumber(text: string): number | undefined {
  if (!JSON_NUMBER.test(text)) return undefined
  const number = Number(text)
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
  // A double would lose further digits.
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : digits.length <= 15
  return Number.isFinite(number) && isExact ? number : undefined
}

import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { InstanceParts, literalPattern } from './instance-check.ts'
import { type PreparedSchema, prepareSchema, type SchemaNode } from './prepare-schema.ts'

/** What a schema says of an instance; `unchecked` when the two together took too much to find out. */
export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly errors: readonly OutputUnit[] }
  | { readonly kind: 'unchecked'; readonly reason: string }

/** References followed in one validation. A real one follows some dozens. */
const MAX_REFS = 25_000

/**
 * A schema made ready to validate many instances. It never throws, never fetches a `$ref` from anywhere, and takes
 * bounded time: a schema from a stranger is data like any other.
 */
export class CompiledSchema {
  /** Why nothing can be validated, when the schema as a whole is beyond use. */
  readonly unusable: string | undefined
  /** What parts of it were left out. */
  readonly faults: readonly string[]
  readonly #parts = new InstanceParts()
  readonly #prepared: PreparedSchema | undefined
  readonly #lookup: Record<string, Schema | boolean> = {}
  #refs = 0

  constructor(schema: JsonSchema) {
    const faults: string[] = []
    this.faults = faults
    try {
      const onRef = () => {
        if (++this.#refs > MAX_REFS) throw new RangeError(`it follows more than ${MAX_REFS} references`)
      }
      const prepared = prepareSchema(schema, { parts: this.#parts, onRef })
      this.#lookup = dereference(prepared.root as Schema)
      faults.push(...prepared.faults, ...dropDanglingRefs(this.#lookup))
      this.#prepared = prepared
    } catch (thrown) {
      this.unusable = describeError(thrown)
      return
    }
    // A schema that fails on the emptiest instance would fail on all.
    const probe = this.validate({})
    if (probe.kind === 'unchecked') this.unusable = probe.reason
  }

  get root(): unknown {
    return this.#prepared?.root ?? true
  }

  validate(instance: unknown): Verdict {
    this.#refs = 0
    return this.#evaluate(instance, this.root)
  }

  /** Whether a part of the schema accepts a value. It counts against the bounds of the validation before it. */
  accepts(part: unknown, value: unknown): boolean {
    return this.#evaluate(value, part).kind === 'valid'
  }

  /** A part of the schema, or what its `$ref` points to. */
  resolve(part: unknown): unknown {
    let current = part
    // `in` does not read the reference, and so does not count as following it.
    for (let hops = 0; hops < 20 && isRecord(current) && '$ref' in current; hops++) {
      current = this.#lookup[String(current.__absolute_ref__)]
    }
    return current
  }

  #evaluate(instance: unknown, part: unknown): Verdict {
    const prepared = this.#prepared
    if (prepared === undefined || part === true) return { kind: 'valid' }
    try {
      this.#readParts(instance, prepared)
      return this.#verdict(instance, part as Schema, prepared.draft)
    } catch (thrown) {
      return { kind: 'unchecked', reason: describeError(thrown) }
    }
  }

  #verdict(instance: unknown, part: Schema, draft: SchemaDraft): Verdict {
    try {
      const { valid, errors } = validate(instance, part, draft, this.#lookup, false)
      return valid ? { kind: 'valid' } : { kind: 'invalid', errors }
    } catch (thrown) {
      // More faults than the validator can gather overflow its stack; then the first one has to do.
      const { valid, errors } = validate(instance, part, draft, this.#lookup, true)
      if (valid) throw thrown
      return { kind: 'invalid', errors }
    }
  }

  #readParts(instance: unknown, { hasOwnChecks, patternMaps }: PreparedSchema): void {
    if (!hasOwnChecks && patternMaps.length === 0) return
    this.#parts.read(instance)
    const keys = patternMaps.length === 0 ? [] : [...this.#parts.texts.all()]
    for (const { live, entries } of patternMaps) {
      for (const key of Object.keys(live)) delete live[key]
      for (const { test, schema } of entries) addMatching(live, keys.filter(test), schema)
    }
  }
}

// Two patterns may match the same keys: then both schemas hold.
function addMatching(live: SchemaNode, keys: readonly string[], schema: unknown): void {
  if (keys.length === 0) return
  const pattern = literalPattern(keys)
  live[pattern] = live[pattern] === undefined ? schema : { allOf: [live[pattern], schema] }
}

/** A `$ref` that leads nowhere, or round in a circle, would fail every instance; it is taken out instead. */
function dropDanglingRefs(lookup: Record<string, Schema | boolean>): string[] {
  const dropped = new Set<string>()
  for (const node of Object.values(lookup)) {
    if (!isRecord(node) || typeof node.$ref !== 'string' || leadsSomewhere(node, lookup)) continue
    dropped.add(`$ref ${node.$ref} leads nowhere`)
    delete node.$ref
  }
  return [...dropped].slice(0, 5)
}

function leadsSomewhere(node: Record<string, unknown>, lookup: Record<string, Schema | boolean>): boolean {
  let current: unknown = node
  for (let hops = 0; hops < 100; hops++) {
    if (!isRecord(current) || typeof current.$ref !== 'string') return current !== undefined
    current = lookup[String(current.__absolute_ref__ ?? current.$ref)]
  }
  return false
}

import { canonicalJson } from '../json.ts'

/** Says whether a text matches. */
export type TextTest = (text: string) => boolean

/** Every text and every array of the instance under validation, in the order in which a validator comes by them. */
export class InstanceParts {
  readonly texts = new Parts<string>()
  readonly arrays = new Parts<readonly unknown[]>()

  read(instance: unknown): void {
    this.texts.clear()
    this.arrays.clear()
    this.#collect(instance)
  }

  #collect(value: unknown): void {
    if (typeof value === 'string') this.texts.add(value)
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      this.arrays.add(value)
      for (const item of value) this.#collect(item)
      return
    }
    for (const [key, nested] of Object.entries(value)) {
      // Names of properties are texts too: `propertyNames` validates them.
      this.texts.add(key)
      this.#collect(nested)
    }
  }
}

class Parts<Part> {
  #parts: Part[] = []
  #cursor = 0

  clear(): void {
    this.#parts = []
    this.#cursor = 0
  }

  add(part: Part): void {
    this.#parts.push(part)
  }

  all(): ReadonlySet<Part> {
    return new Set(this.#parts)
  }

  /** The part for which the question is answered with yes, if there is one. */
  find(isIt: (part: Part) => boolean): Part | undefined {
    const parts = this.#parts
    // Validators ask in the order of the parts, so the next one asked for is nearly always the next one here.
    for (let step = 0; step < parts.length; step++) {
      const index = (this.#cursor + step) % parts.length
      const part = parts[index]
      if (part === undefined || !isIt(part)) continue
      this.#cursor = index
      return part
    }
    return undefined
  }
}

export interface InstanceChecks {
  readonly pattern?: { readonly source: string; readonly test: TextTest } | undefined
  readonly isUnique: boolean
  /** The values of the schema's own `enum`. */
  readonly values: readonly unknown[] | undefined
}

/**
 * Checks that are better made here than by the validator, in the clothes of an `enum`: it asks an enum whether `some`
 * of its values equals the instance, which tells the instance without naming it. Patterns are tested in linear time,
 * and so are arrays for duplicates; what is neither text nor array passes.
 */
export class InstanceCheck {
  readonly checks: InstanceChecks
  readonly #parts: InstanceParts

  constructor(checks: InstanceChecks, parts: InstanceParts) {
    this.checks = checks
    this.#parts = parts
  }

  some(equalsInstance: (value: unknown) => boolean): boolean {
    const { pattern, isUnique, values } = this.checks
    if (values && !values.some(equalsInstance)) return false
    const text = pattern && this.#parts.texts.find(equalsInstance)
    if (text !== undefined && !pattern?.test(text)) return false
    const array = isUnique ? this.#parts.arrays.find(equalsInstance) : undefined
    return array === undefined || !hasDuplicates(array)
  }
}

function hasDuplicates(items: readonly unknown[]): boolean {
  return new Set(items.map(canonicalJson)).size < items.length
}

/** A regular expression that matches exactly these keys, and is as harmless as they are many. */
export function literalPattern(keys: readonly string[]): string {
  return `^(?:${keys.map((key) => key.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')})$`
}

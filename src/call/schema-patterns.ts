/** Says whether a text matches. */
export type TextTest = (text: string) => boolean

/** Every text in the instance under validation, keys included, in the order in which a validator comes by them. */
export class InstanceTexts {
  #texts: string[] = []
  #cursor = 0

  read(instance: unknown): void {
    this.#texts = []
    this.#cursor = 0
    this.#collect(instance)
  }

  keys(): Iterable<string> {
    return new Set(this.#texts)
  }

  /** The text for which the question is answered with yes, if there is one. */
  find(isIt: (text: string) => boolean): string | undefined {
    const texts = this.#texts
    // Validators ask in the order of the texts, so the next one asked for is nearly always the next one here.
    for (let step = 0; step < texts.length; step++) {
      const index = (this.#cursor + step) % texts.length
      const text = texts[index]
      if (text === undefined || !isIt(text)) continue
      this.#cursor = index
      return text
    }
    return undefined
  }

  #collect(value: unknown): void {
    if (typeof value === 'string') this.#texts.push(value)
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const item of value) this.#collect(item)
      return
    }
    for (const [key, nested] of Object.entries(value)) {
      this.#texts.push(key)
      this.#collect(nested)
    }
  }
}

/**
 * A pattern in the clothes of an `enum`: the validator asks an enum whether `some` of its values equals the instance,
 * which tells the instance without naming it. What is no text passes, as with any pattern.
 */
export class PatternEnum {
  readonly pattern: string
  readonly values: readonly unknown[] | undefined
  readonly #test: TextTest
  readonly #texts: InstanceTexts

  constructor(pattern: string, test: TextTest, texts: InstanceTexts, values: readonly unknown[] | undefined) {
    this.pattern = pattern
    this.values = values
    this.#test = test
    this.#texts = texts
  }

  some(equalsInstance: (value: unknown) => boolean): boolean {
    if (this.values && !this.values.some(equalsInstance)) return false
    const text = this.#texts.find(equalsInstance)
    return text === undefined || this.#test(text)
  }
}

/** A regular expression that matches exactly these keys, and is as harmless as they are many. */
export function literalPattern(keys: readonly string[]): string {
  return `^(?:${keys.map((key) => key.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')})$`
}

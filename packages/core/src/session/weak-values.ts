/** Values that are kept only as long as something else uses them. */
export class WeakValues<Value extends object> {
  readonly #references = new Map<string, WeakRef<Value>>()
  readonly #dropped = new FinalizationRegistry<string>((key) => {
    if (this.get(key) === undefined) this.#references.delete(key)
  })

  get(key: string): Value | undefined {
    return this.#references.get(key)?.deref()
  }

  set(key: string, value: Value): void {
    this.#references.set(key, new WeakRef(value))
    this.#dropped.register(value, key)
  }
}

/**
 * Returns a function that creates a value on its first call, and then returns it. For tables that take time to build:
 * most processes end before they need them.
 */
export function onFirstUse<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

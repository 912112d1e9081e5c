/**
 * Returns a function that makes a value when it is first called, and then returns it. For tables that take time to build:
 * most processes end before they need them.
 */
export function onFirstUse<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

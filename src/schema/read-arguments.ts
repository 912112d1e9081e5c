/** Reads arguments leniently: absent ones are `{}`, and JSON in a string is parsed. */
export function readArguments(given: unknown): unknown {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'string') return given
  if (given.trim() === '') return {}
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

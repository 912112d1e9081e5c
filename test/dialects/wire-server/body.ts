/** Reading a request body without trusting it. */
export type Body = Record<string, unknown>

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function list(value: unknown): Body[] {
  return Array.isArray(value) ? value.filter(isBody) : []
}

export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}

/** The first fault of several. */
export function firstOf(...faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined)
}

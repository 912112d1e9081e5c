/** The configured values of a server, by name. */
export interface ConfiguredValues {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly oauth?: Readonly<Record<string, string>> | undefined
}

/** Shorter values (`1`, `true`, `8080`) are not secrets and occur in any text. */
const MIN_CHARACTERS = 6

/**
 * Returns a function that removes the configured values of a server's variables, headers and OAuth client from a
 * text. Servers often print them when they fail, and their output is shown, logged and read by models.
 */
export function concealerOf({ env, headers, oauth }: ConfiguredValues): (text: string) => string {
  const values = [env, headers, oauth].flatMap((map) => Object.entries(map ?? {}).flatMap(secretParts))
  const concealed = values
    .filter(({ part }) => part.length >= MIN_CHARACTERS)
    // Longest first, so that replacing a part of one value cannot leave the rest of another.
    .sort((a, b) => b.part.length - a.part.length)
  return (text) => concealed.reduce((rest, { name, part }) => rest.replaceAll(part, () => `(${name})`), text)
}

/** A value as a whole, line by line, and without its scheme: `Bearer`, `Basic`. */
function secretParts([name, value]: readonly [string, string]): { name: string; part: string }[] {
  const lines = value.split('\n').map((line) => line.trim())
  const parts = new Set([value, ...lines, value.replace(/^\w+\s+/, '')])
  return [...parts].map((part) => ({ name, part }))
}

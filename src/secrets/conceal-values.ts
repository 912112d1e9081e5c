/** The values a server was configured with, by the names of what they are for. */
export interface ConfiguredValues {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly oauth?: Readonly<Record<string, string>> | undefined
}

/** Shorter values (`1`, `true`, `8080`) are no secrets, and stand in any text. */
const MIN_CHARACTERS = 6

/**
 * Takes the configured values of a server's variables, headers and OAuth client out of a text: servers like to print
 * them when they fail, and what they print is shown, logged and read by models.
 */
export function concealerOf({ env, headers, oauth }: ConfiguredValues): (text: string) => string {
  const values = [env, headers, oauth].flatMap((map) => Object.entries(map ?? {}).flatMap(secretParts))
  const concealed = values
    .filter(({ part }) => part.length >= MIN_CHARACTERS)
    // The longest first, lest a part of one value leaves the rest of another.
    .sort((a, b) => b.part.length - a.part.length)
  return (text) => concealed.reduce((rest, { name, part }) => rest.replaceAll(part, () => `(${name})`), text)
}

/** A value whole, line by line, and without the word that says how to read it: `Bearer`, `Basic`. */
function secretParts([name, value]: readonly [string, string]): { name: string; part: string }[] {
  const lines = value.split('\n').map((line) => line.trim())
  const parts = new Set([value, ...lines, value.replace(/^\w+\s+/, '')])
  return [...parts].map((part) => ({ name, part }))
}

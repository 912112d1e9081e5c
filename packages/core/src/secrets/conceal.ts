import { maskSecrets } from './mask.ts'
import { maskValues } from './mask-values.ts'
import { isSecretName, looksRandom } from './secret-signs.ts'

/** The configured values of a server, by name. */
export interface ConfiguredValues {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly oauth?: Readonly<Record<string, string>> | undefined
}

/**
 * Returns a function that removes the configured values of a server's variables, headers and OAuth client from a text,
 * in any form. Servers often print them when they fail, and their output is shown, logged and read by models.
 */
export function concealerOf(config: ConfiguredValues): (text: string) => string {
  return concealing(valuesOf(config))
}

/**
 * The same for those that are secrets by their name or look, for texts in which other values (`production`, a folder)
 * are ordinary words. Undefined if there are none.
 */
export function secretConcealerOf(config: ConfiguredValues): ((text: string) => string) | undefined {
  const secrets = valuesOf(config).flatMap(([name, value]) => {
    const isWhole = isSecretName(name) || looksRandom(value)
    return [...(isWhole ? [value] : []), ...secretsWithin(value)].map((secret) => [name, secret] as const)
  })
  return secrets.length === 0 ? undefined : concealing(secrets)
}

/** The password of an address, a key in JSON, and what `Basic` credentials consist of. */
function secretsWithin(value: string): readonly string[] {
  const found: string[] = []
  maskSecrets(value, (secret) => {
    found.push(secret)
    return ''
  })
  const encoded = /^Basic\s+([\w+/=-]+)$/i.exec(value)?.[1]
  const credentials = encoded === undefined ? '' : decodeBase64(encoded)
  return [...found, credentials, credentials.slice(credentials.indexOf(':') + 1)].filter(
    (text) => text !== '',
  )
}

function decodeBase64(text: string): string {
  try {
    const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
  } catch {
    return ''
  }
}

function valuesOf({ env, headers, oauth }: ConfiguredValues): [name: string, value: string][] {
  return [env, headers, oauth].flatMap((map) => Object.entries(map ?? {}))
}

function concealing(values: readonly (readonly [string, string])[]): (text: string) => string {
  const parts = values.flatMap(secretParts)
  const names = new Map(parts.map(({ name, part }) => [part, name]))
  return maskValues([...names.keys()], (part) => `(${names.get(part)})`)
}

/** A value as a whole, line by line, and without its scheme: `Bearer`, `Basic`. */
function secretParts([name, value]: readonly [string, string]): { name: string; part: string }[] {
  const lines = value.split('\n').map((line) => line.trim())
  const parts = new Set([value, ...lines, value.replace(/^\w+\s+/, '')])
  return [...parts].map((part) => ({ name, part }))
}

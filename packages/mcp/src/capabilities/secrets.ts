import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type CapabilityBackend, CapabilityError, ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyObject,
  anyText,
  checkOptions,
  describeError,
  isMaskable,
  isRecord,
  maskValues,
  type OptionRules,
  textList,
} from '@toolcrib/core/internal'

/** Where to read secrets from. */
export interface SecretsOptions {
  /** Names of environment variables that are secrets. */
  readonly env?: readonly string[]
  /** A file of secrets: a JSON object of strings if its name ends in `.json`, `NAME=value` lines otherwise. */
  readonly file?: string
  /** The source of `env`. Defaults to this process's environment. */
  readonly environment?: { readonly [name: string]: string | undefined }
  /** Called for values too short to mask, without the value itself. Emits a process warning by default. */
  readonly onWarning?: (message: string) => void
}

const OPTIONS: OptionRules<SecretsOptions> = {
  env: textList,
  file: anyText,
  environment: anyObject,
  onWarning: anyFunction,
}

/**
 * Named secrets from the environment or a file, read once. A tool gets the secrets that it declares and the host
 * lists; `get` throws `denied`, with the name, for any other, so a header with `undefined` in it is never sent.
 * `mask` covers all secrets, whichever tool asks: a tool must not print a secret that it never received either.
 */
export function secretsBackend(options: SecretsOptions): CapabilityBackend<'secrets'> & {
  mask(text: string): string
} {
  checkOptions('secretsBackend()', options, OPTIONS)
  const secrets = readSecrets(options)
  warnOfShort(secrets, options.onWarning ?? ((message) => process.emitWarning(message)))
  const mask = maskValues([...secrets.values()])

  return {
    open(declared, scope) {
      const granted = declared.includes('*')
        ? [...secrets.keys()]
        : declared.filter((name) => secrets.has(name))
      if (granted.length === 0) {
        throw new CapabilityError(
          'denied',
          `the host has none of the secrets ${scope.tool} declares (${declared.join(', ')}); add them to secretsBackend`,
        )
      }
      return { get: (name) => readGranted(name) }

      function readGranted(name: string): string {
        const value = granted.includes(name) ? secrets.get(name) : undefined
        if (value !== undefined) return value
        const isDeclared = declared.includes('*') || declared.includes(name)
        const problem = isDeclared ? 'the host does not grant it' : `${scope.tool} does not declare it`
        const step = isDeclared ? 'add it to secretsBackend' : 'declare it in capabilities.secrets'
        throw new CapabilityError('denied', `secret "${name}" is not available: ${problem}; ${step}`)
      }
    },
    mask,
  }
}

function readSecrets({ env = [], file, environment = process.env }: SecretsOptions): Map<string, string> {
  const secrets = new Map<string, string>(file === undefined ? [] : readSecretFile(file))
  for (const name of env) {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    if (value !== undefined && value !== '') secrets.set(name, value)
  }
  return secrets
}

function readSecretFile(file: string): [name: string, value: string][] {
  const text = readText(file)
  const entries = Object.entries(file.endsWith('.json') ? parseJson(text, file) : parseEnv(text))
  return entries.map(([name, value]) => {
    if (typeof value === 'string') return [name, value]
    throw new ToolcribError(
      'config-invalid',
      `secret "${name}" in ${file} is not a string; put its value in quotes`,
    )
  })
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ToolcribError('config-invalid', `secrets cannot be read: ${describeError(cause)}`, { cause })
  }
}

function parseJson(text: string, file: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's message quotes the file, which contains secrets.
    throw new ToolcribError('config-invalid', `${file} is not valid JSON; fix the syntax`)
  }
  if (isRecord(parsed)) return parsed
  throw new ToolcribError('config-invalid', `${file} does not contain a JSON object; write {"NAME": "value"}`)
}

function warnOfShort(secrets: ReadonlyMap<string, string>, warn: (message: string) => void): void {
  for (const [name, value] of secrets) {
    if (isMaskable(value)) continue
    warn(`secret "${name}" is too short to mask in results; use at least 6 characters`)
  }
}

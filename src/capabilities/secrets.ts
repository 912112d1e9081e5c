import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type CapabilityBackend, CapabilityError } from '../capability.ts'
import {
  anyFunction,
  anyObject,
  anyText,
  checkOptions,
  type OptionRules,
  textList,
} from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { isMaskable, maskValues } from '../secrets/mask-values.ts'

/** Where secrets are read from. */
export interface SecretsOptions {
  /** Names of environment variables that are secrets. */
  readonly env?: readonly string[]
  /** A file of secrets: an object of texts in JSON when it ends in `.json`, `NAME=value` lines otherwise. */
  readonly file?: string
  /** Where `env` is read from. The environment of this process by default. */
  readonly environment?: { readonly [name: string]: string | undefined }
  /** Called for values too short to be masked. A process warning by default; the value itself is never in it. */
  readonly onWarning?: (message: string) => void
}

const OPTIONS: OptionRules<SecretsOptions> = {
  env: textList,
  file: anyText,
  environment: anyObject,
  onWarning: anyFunction,
}

/**
 * Named secrets from the environment or a file, read once. A tool gets those it declared and the host lists; `get`
 * throws `denied`, with the name, for any other: a header with `undefined` in it is never sent.
 * `mask` covers all of them, whoever asked: a secret must not be printed by a tool that never held it either.
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
          `the host has none of the secrets ${scope.tool} asks for (${declared.join(', ')}); add them to secretsBackend`,
        )
      }
      return { get: (name) => readGranted(name) }

      function readGranted(name: string): string {
        const value = granted.includes(name) ? secrets.get(name) : undefined
        if (value !== undefined) return value
        const isDeclared = declared.includes('*') || declared.includes(name)
        const problem = isDeclared ? 'the host does not grant it' : `${scope.tool} does not declare it`
        const step = isDeclared ? 'add it to secretsBackend' : 'declare it in capabilities.secrets'
        throw new CapabilityError('denied', `there is no secret "${name}": ${problem}; ${step}`)
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
      `secret "${name}" in ${file} is not a text; put its value in quotes`,
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
    // What the parser says quotes the file, which is full of secrets.
    throw new ToolcribError('config-invalid', `${file} is not valid JSON; correct it`)
  }
  if (isRecord(parsed)) return parsed
  throw new ToolcribError('config-invalid', `${file} does not hold an object; write {"NAME": "value"}`)
}

function warnOfShort(secrets: ReadonlyMap<string, string>, warn: (message: string) => void): void {
  for (const [name, value] of secrets) {
    if (isMaskable(value)) continue
    warn(`secret "${name}" is too short to be masked in results; use one of 6 characters or more`)
  }
}

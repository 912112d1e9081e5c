import { ToolcribError } from '@toolcrib/core'
import {
  anthropicModel,
  geminiModel,
  type Model,
  minimaxModel,
  openaiChatModel,
  openaiResponsesModel,
} from '@toolcrib/core/agent'
import { requireHttpUrl, UsageError } from '../terminal/usage-error.ts'
import { PROVIDER_NAMES, type ProviderName } from './provider-names.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface ModelChoice {
  readonly provider?: string
  readonly model?: string
  readonly baseUrl?: string
  /** The variable that holds the key, if not the provider's usual one. */
  readonly apiKeyEnv?: string
}

interface Access {
  readonly model: string
  readonly apiKey?: string
  readonly baseURL?: string
}

interface Provider {
  /** Variables that may hold the key, in order of precedence. */
  readonly keys: readonly string[]
  /** True if the user's own server may not need a key. */
  readonly isOpen?: boolean
  /** The package that its requests need. */
  readonly sdk: string
  open(access: Access): Model
}

const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  anthropic: { keys: ['ANTHROPIC_API_KEY'], sdk: '@anthropic-ai/sdk', open: anthropicModel },
  openai: { keys: ['OPENAI_API_KEY'], sdk: 'openai', open: openaiResponsesModel },
  'openai-responses': { keys: ['OPENAI_API_KEY'], sdk: 'openai', open: openaiResponsesModel },
  'openai-chat': { keys: ['OPENAI_API_KEY'], isOpen: true, sdk: 'openai', open: openaiChatModel },
  gemini: { keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], sdk: '@google/genai', open: geminiModel },
  minimax: { keys: ['MINIMAX_API_KEY'], sdk: '@anthropic-ai/sdk', open: minimaxModel },
}

/**
 * Returns the model named by flags and environment. Throws `config-invalid` with the variable, flag or package
 * that is missing, and `UsageError` for a flag with a wrong value. Keys are read only from the environment: every user of the
 * machine can read a command line.
 */
export async function chooseModel(choice: ModelChoice, env: Environment): Promise<Model> {
  const providerName = choice.provider ?? env.TOOLCRIB_PROVIDER ?? providerWithKey(choice, env)
  if (!isProvider(providerName)) {
    const fault = `unknown provider "${providerName}"; use one of ${PROVIDER_NAMES.join(', ')}`
    throw choice.provider === undefined ? invalid(fault) : new UsageError(fault)
  }
  const provider = PROVIDERS[providerName]
  const model = choice.model ?? env.TOOLCRIB_MODEL
  if (model === undefined || model === '')
    throw invalid(`no model for ${providerName}; pass --model <id>, or set TOOLCRIB_MODEL`)
  const { baseUrl, apiKeyEnv } = choice
  if (baseUrl !== undefined) requireHttpUrl('--base-url', baseUrl)
  const keys = apiKeyEnv === undefined ? provider.keys : [apiKeyEnv]
  const apiKey = keys.map((key) => env[key]).find(Boolean)
  const mayGoWithout = provider.isOpen === true && baseUrl !== undefined && apiKeyEnv === undefined
  if (apiKey === undefined && !mayGoWithout)
    throw invalid(
      `${keys.join(' or ')} is not set; set it to your key for ${providerName}, or choose another --provider`,
    )
  await requireSdk(provider.sdk)
  return provider.open({
    model,
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    // The user's own server gets a key only if one was named for it.
    ...(apiKey === undefined || (mayGoWithout && apiKeyEnv === undefined) ? {} : { apiKey }),
  })
}

/** Throws at once for a package that is not installed: the model would miss it only once the servers run. */
export async function requireSdk(name: string): Promise<void> {
  try {
    await import(/* @vite-ignore */ name)
  } catch (cause) {
    throw new ToolcribError(
      'config-invalid',
      `the package ${name} is not installed; install it with: npm install ${name}`,
      { cause },
    )
  }
}

function isProvider(name: string): name is ProviderName {
  return (PROVIDER_NAMES as readonly string[]).includes(name)
}

function providerWithKey({ baseUrl }: ModelChoice, env: Environment): string {
  // Nearly every other server supports Chat Completions.
  if (baseUrl !== undefined) return 'openai-chat'
  const found = PROVIDER_NAMES.find((name) => PROVIDERS[name].keys.some((key) => env[key]))
  if (found !== undefined) return found
  const keys = [...new Set(Object.values(PROVIDERS).flatMap((provider) => provider.keys))]
  throw invalid(
    `no provider's key is set; set one of ${keys.join(', ')}, or pass your own server with --base-url`,
  )
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

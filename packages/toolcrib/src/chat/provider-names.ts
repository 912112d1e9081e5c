/** The providers that a chat supports, in the order in which their keys are looked up. */
export const PROVIDER_NAMES = [
  'anthropic',
  'openai',
  'openai-responses',
  'openai-chat',
  'gemini',
  'minimax',
] as const

export type ProviderName = (typeof PROVIDER_NAMES)[number]

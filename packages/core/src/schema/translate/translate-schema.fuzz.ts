import { expect } from 'vitest'
import { recursiveSchema } from '../../../../../test/dialects/recursive-schemas.ts'
import {
  checkAnthropicSchema,
  checkCompatibleSchema,
  checkGeminiSchema,
  checkOpenAiSchema,
} from '../../../../../test/dialects/wire-server/check-schema.ts'
import { fuzz } from '../../../../../test/fuzz.ts'
import { ANTHROPIC_RULES, COMPATIBLE_RULES, GEMINI_RULES, OPENAI_RULES } from './schema-rules.ts'
import { translateSchema } from './translate-schema.ts'

const PROVIDERS = [
  ['Anthropic', ANTHROPIC_RULES, checkAnthropicSchema],
  ['OpenAI', OPENAI_RULES, checkOpenAiSchema],
  ['compatible servers', COMPATIBLE_RULES, checkCompatibleSchema],
  ['Gemini', GEMINI_RULES, checkGeminiSchema],
] as const

fuzz(
  'any schema is translated to one that every provider accepts, and from that to itself',
  recursiveSchema,
  (schema) => {
    for (const [provider, rules, check] of PROVIDERS) {
      const { schema: translated } = translateSchema(schema, rules)
      expect([provider, check(translated)]).toEqual([provider, undefined])
      expect(JSON.stringify(translateSchema(translated, rules).schema)).toBe(JSON.stringify(translated))
    }
  },
)

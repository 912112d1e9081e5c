import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import type { Surface } from '../../packages/core/src/session/surface.ts'
import type { JsonSchema } from '../../packages/core/src/tool.ts'
import { checkAnthropicRequest, checkMiniMaxRequest } from './wire-server/check-anthropic.ts'
import { checkBedrockRequest } from './wire-server/check-bedrock.ts'
import { checkChatRequest } from './wire-server/check-chat.ts'
import { checkGeminiRequest } from './wire-server/check-gemini.ts'
import { checkResponsesRequest } from './wire-server/check-responses.ts'

const KEYWORDS = [
  'type items properties required enum const anyOf oneOf allOf not $ref $defs definitions prefixItems nullable',
  'additionalProperties patternProperties format pattern minimum exclusiveMinimum default if then else minItems',
].flatMap((line) => line.split(' '))

/** Values that mean something somewhere, in places where they may not. */
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(
      'object',
      'array',
      'string',
      'null',
      '#',
      '#/$defs/a',
      '#/properties/a',
      'x',
      '(',
    ),
    fc.constantFrom<unknown>(true, false, null, 0, -1, 2.5),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYWORDS, 'a', 'b<'), tie('value'), { maxKeys: 4 }),
  ),
})).value
const anySchema = fc.oneof(
  fc.boolean(),
  fc.dictionary(fc.constantFrom(...KEYWORDS), anyValue, { maxKeys: 6 }),
) as fc.Arbitrary<JsonSchema>

const anySurface: fc.Arbitrary<Surface> = fc
  .uniqueArray(
    fc.record({
      name: fc.oneof(
        fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme' }),
        fc.constantFrom('__proto__', 'a'),
      ),
      description: fc.string(),
      parameters: anySchema,
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 6 },
  )
  .map((tools) => ({ tools, deferredCount: 0, strategy: 'append', fingerprint: 'x' }))

/** Flags of an older draft without the numbers that they are about. */
const NONSENSE: Surface = {
  tools: [{ name: 'a', description: '', parameters: { minimum: true, exclusiveMinimum: true } as never }],
  deferredCount: 0,
  strategy: 'append',
  fingerprint: 'x',
}

describe('whatever is registered', () => {
  it.each([
    ['anthropic', anthropic(), checkAnthropicRequest],
    ['minimax', minimax(), checkMiniMaxRequest],
    ['openai-responses', openaiResponses(), checkResponsesRequest],
    ['openai-chat', openaiChat(), checkChatRequest],
    ['gemini', gemini(), checkGeminiRequest],
    ['bedrock', bedrock(), checkBedrockRequest],
  ] as const)('%s builds a request that is accepted', (_name, dialect, check) => {
    fc.assert(
      fc.property(anySurface, (surface) => {
        const request = dialect.toRequest({ surface, messages: [dialect.userMessage('hello') as never] })
        const { config, ...rest } = JSON.parse(JSON.stringify(request))
        expect(check({ ...rest, ...config })).toBeUndefined()
      }),
      { numRuns: 200, examples: [[NONSENSE]] },
    )
  })
})

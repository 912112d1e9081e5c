import { describe, expect, it } from 'vitest'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

const DIALECTS: Readonly<Record<string, (options: never) => unknown>> = {
  aiSdk,
  anthropic,
  bedrock,
  openaiChat,
  openaiResponses,
}

describe('the options of a dialect', () => {
  it.each<[string, unknown, string]>([
    ['anthropic', { inlineTool: true }, 'did you mean "inlineTools"?'],
    ['anthropic', { inlineTools: 'yes' }, 'inlineTools is "yes"; it must be true or false'],
    ['anthropic', { cache: '2h' }, 'cache is "2h"; it must be one of 5m, 1h, false'],
    ['anthropic', { allowedCallers: { query: 'direct' } }, 'allowedCallers is an object'],
    ['anthropic', '1h', 'takes its options as an object'],
    ['openaiResponses', { maxTool: 1 }, 'did you mean "maxTools"?'],
    ['openaiResponses', { maxTools: 'x' }, 'maxTools is "x"; it must be a number'],
    ['openaiResponses', { allowedCallers: ['query'] }, 'allowedCallers is an array'],
    ['openaiChat', { maxTools: Number.NaN }, 'maxTools is NaN'],
    ['openaiChat', { maxDescriptionChars: 0 }, 'maxDescriptionChars is 0'],
    ['openaiChat', { maxDescription: 5 }, 'has no option "maxDescription"'],
    ['bedrock', { cache: '5m' }, 'cache is "5m"; it must be true or false'],
    ['bedrock', { caches: true }, 'did you mean "cache"?'],
    ['aiSdk', {}, 'needs the option "jsonSchema"'],
    ['aiSdk', { jsonSchema: () => ({}), maxTools: 5 }, 'has no option "maxTools"'],
  ])('%s() refuses %j', (name, options, message) => {
    const make = () => DIALECTS[name]?.(options as never)
    expect(make).toThrow(expect.objectContaining({ code: 'config-invalid' }))
    expect(make).toThrow(`${name}()`)
    expect(make).toThrow(message)
  })
})

import { describe, expect, it } from 'vitest'
import { aiSdkVoice } from '../../../../test/dialects/wire-server/voices/ai-sdk.ts'
import { anthropicVoice } from '../../../../test/dialects/wire-server/voices/anthropic.ts'
import { bedrockVoice } from '../../../../test/dialects/wire-server/voices/bedrock.ts'
import { geminiVoice } from '../../../../test/dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import { responsesVoice } from '../../../../test/dialects/wire-server/voices/openai-responses.ts'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import { dialectContract } from './dialect-contract.ts'
import { gemini } from './gemini.ts'
import { minimax } from './minimax.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

const SUITES = [
  ['anthropic', dialectContract(anthropic, anthropicVoice)],
  ['minimax', dialectContract(minimax, anthropicVoice)],
  ['openai-chat', dialectContract(openaiChat, chatVoice)],
  ['openai-responses', dialectContract(openaiResponses, responsesVoice)],
  ['gemini', dialectContract(gemini, geminiVoice)],
  ['bedrock', dialectContract(bedrock, bedrockVoice)],
  ['ai-sdk', dialectContract(() => aiSdk({ jsonSchema: (schema): unknown => schema }), aiSdkVoice)],
] as const

describe.each(SUITES)('%s keeps the contract of dialects', (_name, checks) => {
  for (const { name, run } of checks) it(name, run)
})

it('the contract catches a dialect that forgets a call', () => {
  const forgetful = () => {
    const whole = anthropic()
    return {
      ...whole,
      toCalls: (...args: Parameters<typeof whole.toCalls>) => whole.toCalls(...args).slice(1),
    }
  }
  const check = dialectContract(forgetful, anthropicVoice).find(({ name }) => name.includes('parallel'))
  expect(() => check?.run()).toThrow('expected')
})

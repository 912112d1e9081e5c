import { describe, expect, it } from 'vitest'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import type { Strategy } from '../../packages/core/src/session/surface.ts'
import { sampleRegistry } from './catalogue.ts'
import { SAMPLE_SCHEMAS } from './sample-schemas.ts'
import { anthropicVoice } from './wire-server/voices/anthropic.ts'
import { bedrockVoice } from './wire-server/voices/bedrock.ts'
import { geminiVoice } from './wire-server/voices/gemini.ts'
import { chatVoice } from './wire-server/voices/openai-chat.ts'
import { NATIVE_SEARCH, responsesVoice } from './wire-server/voices/openai-responses.ts'

const TURNS = 30
const SEARCHES = 12

describe('over 30 turns with 12 searches that activate tools', () => {
  it.each([
    ['anthropic', () => conversation(anthropic(), anthropicVoice, 'native')],
    ['openai-responses', () => conversation(openaiResponses(), responsesVoice, 'native')],
    ['minimax', () => conversation(minimax(), anthropicVoice, 'dispatch')],
    ['openai-chat', () => conversation(openaiChat(), chatVoice, 'dispatch')],
    ['gemini', () => conversation(gemini(), geminiVoice, 'dispatch')],
    ['bedrock', () => conversation(bedrock(), bedrockVoice, 'dispatch')],
  ])('%s never changes a byte before the newest message', async (_name, converse) => {
    const { turns, activated } = await converse()
    expect(activated).toBeGreaterThanOrEqual(SEARCHES)
    for (const [index, turn] of turns.entries()) {
      expect(turn.prefix).toBe(turns[0]?.prefix)
      const before = turns[index - 1]
      if (before) expect(turn.messages.startsWith(before.messages.slice(0, -1))).toBe(true)
    }
  })

  it.each([
    ['anthropic', () => conversation(anthropic(), anthropicVoice, 'append')],
    ['openai-chat', () => conversation(openaiChat(), chatVoice, 'append')],
  ])('%s under append keeps every earlier tool in its place, byte for byte', async (_name, converse) => {
    const { turns } = await converse()
    expect(turns.at(-1)?.tools.length).toBe((turns[0]?.tools.length ?? 0) + SEARCHES)
    for (const [index, turn] of turns.entries()) {
      const before = turns[index - 1]?.tools ?? []
      expect(turn.tools.slice(0, before.length)).toEqual(before)
    }
  })
})

interface Sent {
  /** Tools and system prompt. */
  readonly prefix: string
  readonly tools: readonly string[]
  readonly messages: string
}

/** A conversation that searches on every second turn or so, and what each of its requests was. */
async function conversation<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  strategy: Strategy,
): Promise<{ turns: readonly Sent[]; activated: number }> {
  const session = await sampleRegistry().openSession({ mode: 'lazy', strategy, maxActive: 0 })
  const messages: Message[] = [dialect.userMessage('hello')]
  const searchName = dialect.name === 'openai-responses' ? NATIVE_SEARCH : 'tool_search'
  const turns: Sent[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const surface = session.surface()
    const request = dialect.toRequest({ surface, messages, system: 'Be brief.', note: session.promptNote() })
    turns.push(partsOf(request))
    const isSearch = turn % 2 === 0 && turn < SEARCHES * 2
    const query = `select:mcp__disk__${turn / 2} ${Object.keys(SAMPLE_SCHEMAS)[turn / 2]}`
    const response = voice.respond({
      thinking: 'Hm.',
      calls: [
        isSearch
          ? { id: `c${turn}`, name: searchName, args: JSON.stringify({ query, limit: 2 }) }
          : { id: `c${turn}`, name: 'ping', args: '{}' },
      ],
    })
    const results = await session.execute(dialect.toCalls(response, surface))
    expect(results.map(({ result }) => result.ok)).toEqual([true])
    messages.push(...dialect.toMessages(response, results, surface))
  }
  return { turns, activated: session.toJSON().activations.length }
}

function partsOf(request: object): Sent {
  const { messages, contents, input, ...prefix } = request as Record<string, unknown>
  const config = prefix.config as { tools?: unknown } | undefined
  const tools = (prefix.tools ?? config?.tools ?? []) as unknown[]
  // Where the system prompt is the first message, it is in front of all others in any case.
  return {
    prefix: JSON.stringify(prefix),
    // The mark of the cache stands on no tool here: there is a system prompt.
    tools: tools.map((tool) => JSON.stringify(tool)),
    messages: JSON.stringify(messages ?? contents ?? input),
  }
}

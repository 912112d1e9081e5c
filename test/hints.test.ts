import { describe, expect, it } from 'vitest'
import { aiSdk } from '../packages/core/src/dialects/ai-sdk.ts'
import { anthropic } from '../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../packages/core/src/dialects/bedrock.ts'
import { gemini } from '../packages/core/src/dialects/gemini.ts'
import { minimax } from '../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../packages/core/src/dialects/openai-responses.ts'
import {
  defineTool,
  hybrid,
  memoryStore,
  semantic,
  ToolRegistry,
  usageMemory,
} from '../packages/core/src/index.ts'
import { POOR_BELOW } from '../packages/core/src/search/search-result.ts'
import { HINT_LIMITS, userText, withLine } from '../packages/core/src/session/turn-hints.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'

const TOOLS: readonly (readonly [name: string, description: string])[] = [
  ['send_mail', 'Sends an email message to a person'],
  ['create_event', 'Creates an event in the calendar'],
  ['resize_image', 'Resizes an image file to a given width and height'],
  ['play_music', 'Plays a song on the speakers'],
  ['get_forecast', 'Weather forecast for a city'],
]
const REQUEST = 'Please resize this image to a width of 300'
const HINT = 'Tools that may fit: resize_image; find more with tool_search'

const DIALECTS = {
  anthropic: anthropic(),
  minimax: minimax(),
  'openai-chat': openaiChat(),
  'openai-responses': openaiResponses(),
  gemini: gemini(),
  bedrock: bedrock(),
  'ai-sdk': aiSdk({ jsonSchema: (schema: unknown) => schema }),
}

function catalogue(memory = usageMemory({ store: memoryStore() })) {
  const searcher = hybrid({ embedder: staticEmbedder() })
  const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', searcher, memory })
  for (const [name, description] of TOOLS)
    registry.register(
      defineTool({ name, description, inputSchema: { type: 'object' }, execute: () => 'done' }),
    )
  return registry
}

describe.each(Object.entries(DIALECTS))('a hint in a turn with %s', (_name, dialect) => {
  // Each dialect has its own message type; here they are only passed through.
  const open = async () => {
    const session = await catalogue().openSession({ dialect: dialect as never })
    return { session, say: (text: string) => dialect.userMessage(text) as never }
  }

  it('is one line after the newest message, and changes nothing else', async () => {
    const { session, say } = await open()
    const messages = [say(REQUEST)]
    const before = JSON.stringify(messages)
    const { request: plain } = session.turn(messages)
    const { request: hinted } = await session.turn(messages, { hint: true })
    expect(JSON.stringify(messages)).toBe(before)
    expect(JSON.stringify(hinted)).toBe(
      JSON.stringify(plain).replace(REQUEST, JSON.stringify(`${REQUEST}\n\n${HINT}`).slice(1, -1)),
    )
    expect(JSON.stringify(plain)).not.toContain(HINT)
  })

  it('stays the same in later requests, also when its tool is active by then', async () => {
    const { session, say } = await open()
    const first = await session.turn([say(REQUEST)], { hint: true })
    await session.activate(['resize_image'])
    const again = await session.turn([say(REQUEST)], { hint: true })
    const later = await session.turn([say(REQUEST), say('thanks a lot, that is all')], { hint: true })
    const textOf = ({ request }: { request: unknown }) => JSON.stringify(request)
    expect(textOf(again)).toContain(HINT)
    expect(textOf(later).match(/Tools that may fit/g)).toHaveLength(1)
    expect(textOf(first)).toContain(HINT)
  })
})

describe('a hint', () => {
  it('is not given where a search would say that no tool fits well', () => {
    expect(HINT_LIMITS.from).toBeGreaterThan(POOR_BELOW)
  })

  const messages = (...texts: string[]) => texts.map((content) => ({ role: 'user' as const, content }))
  const hintOf = async (session: Awaited<ReturnType<ToolRegistry['openSession']>>, text: string) => {
    const [message] = await session.hinted(messages(text))
    return message?.content.slice(text.length).trim()
  }

  it('is not given for what needs no tool, nor for what is shown already', async () => {
    const session = await catalogue().openSession()
    expect(await hintOf(session, 'thank you, that is enough for today')).toBe('')
    expect(await hintOf(session, 'asdkjh qwe')).toBe('')
    expect(await hintOf(session, '')).toBe('')
    await session.activate(['resize_image'])
    expect(await hintOf(session, REQUEST)).not.toContain('resize_image')
    const full = await catalogue().openSession({ mode: 'full' })
    expect(await hintOf(full, REQUEST)).toBe('')
  })

  it('is not given by a searcher that does not know how certain it is', async () => {
    const session = await catalogue().openSession({ searcher: 'lexical' })
    expect(await hintOf(session, REQUEST)).toBe('')
  })

  it('reads the words of a message, and no query language', async () => {
    const session = await catalogue().openSession()
    for (const text of [`select: ${REQUEST}`, `/${REQUEST}/`, `+${REQUEST}`, `- ${REQUEST} server:none`])
      expect(await hintOf(session, text)).toContain('resize_image')
    expect(await hintOf(session, `${REQUEST} ${'x'.repeat(100_000)}`)).toBeTypeOf('string')
  })

  it('is not given for a message without words, and breaks no turn', async () => {
    const registry = catalogue()
    const events: string[] = []
    registry.subscribe(({ type }) => events.push(type))
    const session = await registry.openSession({ dialect: anthropic() })
    for (const content of [
      '???',
      '!!!',
      '..',
      '\u200b\u200b',
      '\u200b?',
      '-',
      '/',
      '🎉',
      '"" +',
      '\u02b0',
      '\u3164',
    ]) {
      const messages = [{ role: 'user' as const, content }]
      const { request } = await session.turn(messages, { hint: true })
      expect(request.messages).toEqual(session.turn(messages).request.messages)
    }
    expect(events).not.toContain('searched')
  })

  it('is not given while the embedder fails, which an event reports', async () => {
    const embedder = { name: 'down', dimensions: 2, embed: () => Promise.reject(new Error('it is down')) }
    const registry = catalogue()
    const degraded: unknown[] = []
    registry.subscribe((event) => event.type === 'search-degraded' && degraded.push(event))
    const session = await registry.openSession({ searcher: semantic({ embedder }) })
    expect(await hintOf(session, REQUEST)).toBe('')
    expect(degraded).toMatchObject([
      { searcher: 'semantic', error: expect.stringContaining('it is down'), sessionId: session.id },
    ])
  })

  it('is looked for only while the message is the newest: later it would change the prefix', async () => {
    const session = await catalogue().openSession()
    const later = [...messages(REQUEST), { role: 'assistant', content: 'Which image?' }]
    expect(await session.hinted(later)).toEqual(later)
  })

  it('counts as a search: a tool that it names and that is used is remembered', async () => {
    const memory = usageMemory({ store: memoryStore() })
    const session = await catalogue(memory).openSession()
    await session.hinted(messages(REQUEST))
    await session.execute([{ toolCallId: '1', name: 'resize_image', args: {} }])
    await session.close()
    expect(await memory.episodes()).toMatchObject([{ tool: 'resize_image' }])
  })

  it('is refused as an option that is not true or false', async () => {
    const session = await catalogue().openSession({ dialect: anthropic() })
    expect(() => session.turn([], { hint: 'yes' as never })).toThrow(/hint/)
  })
})

describe('the words of a user', () => {
  it.each([
    [{ role: 'user', content: 'hello' }, 'hello'],
    [{ role: 'user', content: [{ type: 'text', text: 'hello' }, { type: 'image' }] }, 'hello'],
    [{ role: 'user', content: [{ type: 'input_text', text: 'hello' }] }, 'hello'],
    [{ role: 'user', parts: [{ text: 'hello' }] }, 'hello'],
    [
      {
        role: 'user',
        content: [
          { type: 'tool_result', content: 'x' },
          { type: 'text', text: 'y' },
        ],
      },
      undefined,
    ],
    [{ role: 'user', parts: [{ functionResponse: {} }] }, undefined],
    [{ role: 'user', content: [{ toolResult: {} }] }, undefined],
    [{ role: 'assistant', content: 'hello' }, undefined],
    [{ role: 'user', content: ' ' }, undefined],
    [{ type: 'function_call_output', output: 'x' }, undefined],
    [null, undefined],
  ])('of %j are %j', (message, text) => {
    expect(userText(message)).toBe(text)
    if (text !== undefined) expect(userText(withLine(message, 'more'))).toBe('hello\n\nmore')
  })
})

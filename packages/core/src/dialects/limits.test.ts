import { describe, expect, it } from 'vitest'
import { checkChatRequest } from '../../../../test/dialects/wire-server/check-chat.ts'
import type { Surface } from '../session/surface.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

function surfaceOf(count: number): Surface {
  return {
    tools: Array.from({ length: count }, (_, index) => ({
      name: `tool_${index}`,
      description: 'A tool.',
      parameters: { type: 'object' },
    })),
    deferredCount: 0,
    strategy: 'append',
    fingerprint: 'x',
  }
}

const LONG = 'Reads the weather of a city and of the sea around it. '.repeat(40)

function described(name: string): Surface {
  return { ...surfaceOf(0), tools: [{ name, description: LONG, parameters: { type: 'object' } }] }
}

describe('before anything is sent', () => {
  it.each([
    ['Chat Completions', 128, openaiChat()],
    ['the Responses API', 128, openaiResponses()],
    ['Anthropic', 10_000, anthropic()],
  ] as const)('%s is not asked with more than %i tools', (api, most, dialect) => {
    const request = (count: number) => dialect.toRequest({ surface: surfaceOf(count), messages: [] })
    expect(request(most).tools).toHaveLength(most)
    expect(() => request(most + 1)).toThrow(
      `the request has ${most + 1} tools, but ${api} allows ${most}; open the session with mode "lazy", which defers all but pinned and preloaded tools`,
    )
  })

  it('a session that defers what it can is advised otherwise', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    const register = (preload: boolean) => {
      for (let at = 0; at < 130; at++)
        registry.registerFunction(() => '', { name: `${preload}_${at}`, description: 'A tool.', preload })
    }
    const dialect = openaiChat()
    const request = async () =>
      dialect.toRequest({ surface: (await registry.openSession({ dialect })).surface(), messages: [] })
    register(false)
    expect((await request()).tools?.map((tool) => tool.function.name)).toContain('tool_search')
    register(true)
    await expect(request()).rejects.toThrow('pin and preload fewer tools, or use strategy "dispatch"')
  })

  it('Gemini is not asked with more than 512 tools', () => {
    const request = (count: number) => gemini().toRequest({ surface: surfaceOf(count), messages: [] })
    expect(JSON.stringify(request(512)).match(/"name":/g)).toHaveLength(512)
    expect(() => request(513)).toThrow('the request has 513 tools, but Gemini allows 512')
  })

  it('a description that is too long for Chat Completions is cut at a word, and reported', () => {
    const dialect = openaiChat()
    const surface = described('get_weather')
    const request = dialect.toRequest({ surface, messages: [dialect.userMessage('hello')] })
    const [tool] = request.tools ?? []
    expect(tool?.function.description).toMatch(/[a-z.] …$/)
    expect(tool?.function.description?.length).toBeLessThanOrEqual(1_024)
    expect(checkChatRequest({ ...request })).toBeUndefined()
    expect(dialect.lossesOf(surface)).toEqual([
      {
        tool: 'get_weather',
        path: '',
        keyword: 'description',
        reason: `cut from ${LONG.length} to 1024 characters`,
      },
    ])
  })

  it('the rest of the search tool’s description moves to the system prompt', () => {
    const dialect = openaiChat()
    const surface = described('tool_search')
    const { tools, messages } = dialect.toRequest({ surface, messages: [], system: 'Be brief.' })
    const shown = tools?.[0]?.function.description?.replace(/ …$/, '') ?? ''
    const system = String(messages[0]?.content)
    const moved = system.split('More about tool_search: …')[1]
    expect(shown + moved).toBe(LONG)
    expect(dialect.lossesOf(surface)).toEqual([])
  })

  it('a server without that limit is sent the whole description', () => {
    const dialect = openaiChat({ maxDescriptionChars: Number.POSITIVE_INFINITY })
    const { tools } = dialect.toRequest({ surface: described('get_weather'), messages: [] })
    expect(tools?.[0]?.function.description).toBe(LONG)
    expect(dialect.lossesOf(described('get_weather'))).toEqual([])
  })
})

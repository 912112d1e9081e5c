import { describe, expect, it } from 'vitest'
import { sampleRegistry, tool } from '../../../../test/dialects/catalogue.ts'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import { toWireName } from '../names.ts'
import { openaiChat } from './openai-chat.ts'

const DOTTED = 'mcp__files__read.all'

async function open(strategy: 'append' | 'dispatch') {
  const registry = sampleRegistry()
  registry.syncMcp('files', [tool('read.all', 'Reads all.', { type: 'object', properties: {} })])
  return registry.openSession({ mode: 'lazy', strategy, maxActive: 1 })
}

function call(name: string, args: object = {}) {
  return chatVoice.respond({ calls: [{ id: 'c', name, args: JSON.stringify(args) }] })
}

describe('names as the model was shown them', () => {
  it('map back to a tool that has been evicted since', async () => {
    const dialect = openaiChat()
    const session = await open('append')
    await session.activate([DOTTED])
    dialect.toRequest({ surface: session.surface(), messages: [] })
    await session.activate(['mcp__city__get_rain'])
    const surface = session.surface()
    expect(surface.tools.map(({ name }) => name)).not.toContain(DOTTED)
    const calls = dialect.toCalls(call(toWireName(DOTTED)), surface)
    expect(calls).toMatchObject([{ name: DOTTED }])
    expect(await session.execute(calls)).toMatchObject([{ name: DOTTED, result: { ok: true } }])
  })

  it('may be given to call_tool', async () => {
    const dialect = openaiChat()
    const session = await open('dispatch')
    const surface = session.surface()
    const args = { name: toWireName('draw.chart'), arguments: { of: 'rain' } }
    const calls = dialect.toCalls(call('call_tool', args), surface)
    expect(calls).toMatchObject([{ name: 'call_tool', args: { name: 'draw.chart' } }])
    expect(await session.execute(calls)).toMatchObject([{ result: { ok: true } }])
  })

  it.each(['append', 'dispatch'] as const)(
    'are those in the answers of a search, and lead back: %s',
    async (strategy) => {
      const dialect = openaiChat()
      const session = await open(strategy)
      const surface = session.surface()
      const say = async (name: string, args: object) => {
        const response = call(name, args)
        const results = await session.execute(dialect.toCalls(response, surface))
        return [results, JSON.stringify(dialect.toMessages(response, results, surface))] as const
      }
      const [, answer] = await say('tool_search', { query: 'reads all files' })
      expect(answer).toContain(toWireName(DOTTED))
      expect(answer).not.toContain(DOTTED)
      const [loaded, text] = await say('tool_search', { name: toWireName(DOTTED) })
      expect(loaded).toMatchObject([{ result: { structured: { name: DOTTED } } }])
      expect(text).not.toContain(DOTTED)
    },
  )

  it('are unchanged if no tool was shown under them', async () => {
    const surface = (await open('append')).surface()
    expect(openaiChat().toCalls(call(toWireName(DOTTED)), surface)).toMatchObject([
      { name: toWireName(DOTTED) },
    ])
  })
})

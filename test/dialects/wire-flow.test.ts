import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SpokenTurn } from '../../packages/core/src/dialects/dialect-contract.ts'
import { toWireName } from '../../packages/core/src/names.ts'
import type { Session } from '../../packages/core/src/session/session.ts'
import type { CallResult } from '../../packages/core/src/tool.ts'
import { sampleRegistry } from './catalogue.ts'
import { type Client, clientsFor } from './clients.ts'
import { converse } from './conversation.ts'
import { NATIVE_SEARCH } from './wire-server/voices/openai-responses.ts'
import { type ScriptedTurn, startWireServer, type WireServer } from './wire-server/wire-server.ts'

const RAIN = 'mcp__city__get_rain'
let server: WireServer

beforeEach(async () => {
  server = await startWireServer()
})
afterEach(() => server.close())

describe.each(['anthropic', 'minimax', 'openai-chat', 'openai-responses', 'gemini'])(
  '%s over its wire',
  (name) => {
    const open = async () => {
      const client = clientsFor(server.url).find((candidate) => candidate.name === name)
      if (!client) throw new Error(`no client ${name}`)
      const registry = sampleRegistry()
      const session = await registry.openSession({ mode: 'lazy', dialect: client.dialect })
      return { client, registry, session }
    }

    it.each(['send', 'stream'] as const)('finds a tool, calls it and ends (%s)', async (way) => {
      const { client, session } = await open()
      server.play(search('city rainfall'), callRain({ city: 'Bergen' }), {
        thinking: 'Hm.',
        text: 'It rains.',
      })
      const { text, results } = await talk(client, session, way)
      expect(server.refusals).toEqual([])
      expect(text).toBe('It rains.')
      expect(results.map(({ result }) => result.ok)).toEqual([true, true])
      expect(results[1]?.result).toMatchObject({ value: 'get_rain was given {"city":"Bergen"}' })
      expect(session.isActive(RAIN)).toBe(true)
    })

    it('runs parallel calls, images and errors in one response', async () => {
      const { client, session } = await open()
      server.play(
        {
          thinking: 'Hm.',
          calls: [
            { id: 'a', name: toWireName('draw.chart'), args: '{"of":"rain"}' },
            { id: 'b', name: 'ping', args: '{}' },
            { id: 'c', name: 'no_such_tool', args: '{}' },
          ],
        },
        { text: 'Done.' },
      )
      const { text, results } = await talk(client, session, 'send')
      expect(server.refusals).toEqual([])
      expect(text).toBe('Done.')
      expect(results.map(({ name: tool, result }) => [tool, result.ok])).toEqual([
        ['draw.chart', true],
        ['ping', true],
        ['no_such_tool', false],
      ])
      expect(JSON.stringify(server.requests[1])).toContain('iVBORw0KGgo=')
    })

    it('continues after malformed arguments, duplicate ids and a refusal', async () => {
      const { client, session } = await open()
      const malformed: SpokenTurn = {
        thinking: 'Hm.',
        calls: [{ id: 'a', name: 'ping', args: name === 'gemini' ? '{}' : '{"a": ' }],
      }
      server.play(
        malformed,
        {
          thinking: 'Hm.',
          calls: [
            { id: 'b', name: 'ping', args: '{}' },
            { id: 'b', name: 'ping', args: '{"x":1}' },
          ],
        },
        { text: 'I will not.', stop: 'refused' },
        { text: 'Here I am.' },
      )
      const messages = [client.dialect.userMessage('hello')]
      await talk(client, session, 'send', messages)
      const { text } = await talk(client, session, 'send', [...messages, client.dialect.userMessage('go on')])
      expect(server.refusals).toEqual([])
      expect(text).toBe('Here I am.')
    })

    it('continues after a stream that was cut off anywhere', async () => {
      const { client, session } = await open()
      for (let cutAfter = 1; cutAfter < 12; cutAfter++) {
        server.play(
          {
            thinking: 'Hm.',
            text: 'I am',
            calls: [{ id: 'a', name: 'ping', args: '{"some":"thing"}' }],
            cutAfter,
          },
          { text: 'Back.' },
          { text: 'Back.' },
        )
        const messages = [client.dialect.userMessage('hello')]
        await talk(client, session, 'stream', messages)
        messages.push(client.dialect.userMessage('go on'))
        const { text } = await talk(client, session, 'stream', messages)
        expect([text, server.refusals]).toEqual(['Back.', []])
      }
    })

    it('continues when a found tool is removed', async () => {
      const { client, registry, session } = await open()
      server.play(search('city rainfall'), callRain({ city: 'Bergen' }), {
        thinking: 'Hm.',
        text: 'It rains.',
      })
      const messages = [client.dialect.userMessage('hello')]
      await talk(client, session, 'send', messages)
      registry.unregisterMcp('city')
      server.play(callRain({ city: 'Oslo' }, 'again'), { thinking: 'Hm.', text: 'It is gone.' })
      messages.push(client.dialect.userMessage('And Oslo?'))
      const { text, results } = await talk(client, session, 'send', messages)
      expect([text, server.refusals]).toEqual(['It is gone.', []])
      expect(results.at(-1)?.result).toMatchObject({ ok: false, code: 'not_available' })
    })

    it('shows the whole catalogue in full mode', async () => {
      const { client, registry } = await open()
      const session = await registry.openSession({ mode: 'full', dialect: client.dialect })
      server.play({ text: 'Many.' })
      expect((await talk(client, session, 'send')).text).toBe('Many.')
      expect(server.refusals).toEqual([])
    })

    /** The model searches, in the way the surface offers. */
    function search(query: string): ScriptedTurn {
      return {
        thinking: 'Hm.',
        calls: [
          {
            id: 's',
            name: name === 'openai-responses' ? NATIVE_SEARCH : 'tool_search',
            args: JSON.stringify({ query, limit: 3 }),
          },
        ],
      }
    }

    /** The model calls what it found, in the way it was shown. */
    function callRain(args: object, id = 'r'): ScriptedTurn {
      if (name === 'anthropic')
        return { thinking: 'Hm.', calls: [{ id, name: RAIN, args: JSON.stringify(args) }] }
      if (name === 'openai-responses')
        return {
          thinking: 'Hm.',
          calls: [{ id, name: `mcp__city::${RAIN}`, args: JSON.stringify(args) }],
        }
      const dispatched = JSON.stringify({ name: RAIN, arguments: args })
      return { thinking: 'Hm.', calls: [{ id, name: 'call_tool', args: dispatched }] }
    }
  },
)

async function talk(
  client: Client,
  session: Session,
  way: 'send' | 'stream',
  messages: unknown[] = [client.dialect.userMessage('Does it rain?')],
): Promise<{ text: string; results: readonly CallResult[] }> {
  const results: CallResult[] = []
  const text = await converse({
    dialect: client.dialect,
    session,
    messages,
    send: (request) => client[way](request),
    onResults: (some) => results.push(...some),
  })
  return { text, results }
}

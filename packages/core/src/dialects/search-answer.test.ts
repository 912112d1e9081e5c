import { describe, expect, it } from 'vitest'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { anthropic } from './anthropic.ts'
import { openaiChat } from './openai-chat.ts'
import { forModel, searchNote } from './search-answer.ts'
import type { WireTools } from './wire-tools.ts'

const $schema = 'http://json-schema.org/draft-07/schema#'

describe('the answer of a search', () => {
  it('leaves out the draft of its schemas', async () => {
    const registry = new ToolRegistry()
    registry.syncMcp('city', [
      {
        name: 'get_rain',
        description: 'Rainfall of a city.',
        inputSchema: { $schema, type: 'object', properties: { city: { type: 'string' } } },
        execute: () => ({ ok: true, value: 'wet' }),
      },
    ])
    const dialect = openaiChat()
    const session = await registry.openSession({ mode: 'lazy', dialect })
    const args = JSON.stringify({ query: 'rainfall' })
    const response = chatVoice.respond({ calls: [{ id: 'a', name: 'tool_search', args }] })
    const results = await session.execute(dialect.toCalls(response, session.surface()))
    const [, answer] = dialect.toMessages(response, results, session.surface())
    expect(String(answer?.content)).toContain('"parameters":{"type":"object"')
    expect(String(answer?.content)).not.toContain('$schema')
  })

  it('keeps the order of its keys, and leaves out what the model cannot use', () => {
    const structured = {
      query: 'x',
      matches: [{ name: 'a', score: 1, parameters: { $schema, type: 'object' } }, 'odd'],
      activated: ['a'],
      evicted: [],
      total: 1,
    }
    expect(textOf(structured)).toBe(
      '{"query":"x","matches":[{"name":"a","parameters":{"type":"object"}},"odd"],"total":1}',
    )
  })

  it('lists callable tools if they are not all matches, evictions, and misses', () => {
    const matches = [{ name: 'a' }, { name: 'b' }]
    expect(textOf({ matches, activated: ['a'], evicted: ['c'] })).toBe(
      '{"matches":[{"name":"a"},{"name":"b"}],"activated":["a"],"evicted":["c"]}',
    )
    expect(textOf({ matches: [], activated: [] })).toBe('{"matches":[]}')
    expect(textOf({ matches, activated: [] })).toBe('{"matches":[{"name":"a"},{"name":"b"}],"activated":[]}')
  })

  it('says that a tool requested by name is active', () => {
    const structured = { activated: true, name: 'a', parameters: { $schema, type: 'object' } }
    expect(textOf(structured)).toBe('{"activated":true,"name":"a","parameters":{"type":"object"}}')
  })

  it('keeps beside definitions what did not fit, under its wire name', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 1 })
    const server = (name: string) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: 'object' },
      execute: () => ({ ok: true as const, value: '' }),
    })
    registry.syncMcp('city', [server('one'), server('two.b')])
    const session = await registry.openSession({ dialect: anthropic() })
    const query = 'select:one,two.b'
    const [found] = await session.execute([{ toolCallId: 'a', name: 'tool_search', args: { query } }])
    const wire = { shownName: (name: string) => name.replaceAll('.', '-') }
    expect(searchNote(found?.result.ok && found.result.structured, wire as WireTools)).toMatch(
      /"not_activated":\["mcp__city__two-b"\].*"hint":"There was no room to load not_activated: /,
    )
  })

  it('is unchanged if its text is not its data', () => {
    const result = { ok: true as const, value: 'Found "$schema"', structured: { matches: [] } }
    expect(forModel(result, UNCHANGED)).toBe(result)
  })
})

const UNCHANGED = { shownName: (name: string) => name } as WireTools

function textOf(structured: object): string {
  const result = forModel({ ok: true, value: JSON.stringify(structured), structured }, UNCHANGED)
  return result.ok ? result.value : ''
}

import { describe, expect, it } from 'vitest'
import { chatVoice } from '../../test/dialects/wire-server/voices/openai-chat.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { openaiChat } from './openai-chat.ts'
import { withoutSchemaUris } from './search-answer.ts'

const $schema = 'http://json-schema.org/draft-07/schema#'

describe('the answer of a search', () => {
  it('says nothing of the draft its schemas are written in', async () => {
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

  it('keeps the order of its keys, and everything else', () => {
    const structured = {
      query: 'x',
      matches: [{ name: 'a', parameters: { $schema, type: 'object' }, score: 1 }, 'odd'],
      total: 1,
    }
    const result = { ok: true as const, value: JSON.stringify(structured), structured }
    const expected =
      '{"query":"x","matches":[{"name":"a","parameters":{"type":"object"},"score":1},"odd"],"total":1}'
    expect(withoutSchemaUris(result)).toMatchObject({ ok: true, value: expected })
  })

  it('is left alone where its text is not its data', () => {
    const result = { ok: true as const, value: 'Found "$schema"', structured: { matches: [] } }
    expect(withoutSchemaUris(result)).toBe(result)
  })
})

import { staticEmbedder } from '@toolcrib/embedder'
import { describe, expect, it } from 'vitest'
import type { ToolcribEvent } from '../events.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { hybrid } from './hybrid.ts'

describe('a search whose embedder fails', () => {
  it('ranks by words alone and emits an event with the reason', async () => {
    const embedder = {
      name: 'down',
      dimensions: 2,
      embed: async () => Promise.reject(new Error('the model is down')),
    }
    const events: ToolcribEvent[] = []
    const registry = new ToolRegistry({
      searcher: hybrid({ embedder }),
      onEvent: (event) => events.push(event),
    })
    registry.registerFunction(() => 'sent', { name: 'send_message', description: 'Sends a message' })
    const result = await registry.search('send message')
    expect(result.matches.map(({ name }) => name)).toEqual(['send_message'])
    expect(result).not.toHaveProperty('failure')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'search-degraded', searcher: 'hybrid', error: 'the model is down' }),
    )
  })
})

describe('a search in words that no tool contains', () => {
  it('returns what is nearest in meaning, with advice, and nothing for gibberish', async () => {
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: staticEmbedder() }) })
    const register = (name: string, description: string) =>
      registry.registerFunction(() => '', { name, description })
    register('create_entities', 'Create multiple new entities in the knowledge graph')
    register('get_file_info', 'Retrieve metadata about a file or directory')
    const result = await registry.search('inspect the paperwork')
    expect(result.matches[0]?.name).toBe('get_file_info')
    expect(result.advice).toContain('No tool fits well')
    expect((await registry.search('asdkjh qwe')).matches).toEqual([])
  })
})

describe('a searcher by name', () => {
  it.each(['lexical', 'weighted', 'regex'] as const)('may be %s', async (searcher) => {
    const registry = new ToolRegistry({ searcher })
    registry.registerFunction(() => 'sent', { name: 'send_message', description: 'Sends a message' })
    expect((await registry.search('message')).matches).toHaveLength(1)
  })

  it('throws when it is unknown, or needs an embedder', () => {
    expect(() => new ToolRegistry({ searcher: 'fuzzy' as never })).toThrow('use lexical, weighted, regex')
    expect(() => new ToolRegistry({ searcher: 'hybrid' as never })).toThrow('staticEmbedder')
  })
})

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { usageMemory } from './memory/usage-memory.ts'

function registryOf(options = {}) {
  const registry = new ToolRegistry(options)
  const tools = { get_forecast: 'The weather of a city.', send_mail: 'Sends a message.' }
  for (const [name, description] of Object.entries(tools))
    registry.register({ name, description, inputSchema: { type: 'object' }, execute: () => '' })
  return registry
}

describe('the default searcher', () => {
  it('is hybrid where @toolcrib/embedder is installed, chosen by the first search', async () => {
    const registry = registryOf()
    expect(registry.searcher.name).toBe('auto')
    const { matches, confidence } = await registry.search('will it rain tomorrow')
    expect(matches[0]?.name).toBe('get_forecast')
    expect(confidence).toBeGreaterThan(0)
    expect(registry.searcher.name).toBe('hybrid')
  })

  it('is loaded when a session with a memory opens, since what is remembered belongs to its model', async () => {
    const memory = usageMemory({ store: memoryStore() })
    const registry = registryOf({ memory })
    await registry.openSession()
    expect(registry.searcher.embedderName).toBe('tool-table-v6')
  })

  it('gives way to one that is named', async () => {
    const registry = registryOf({ searcher: 'lexical' })
    expect((await registry.search('will it rain tomorrow')).matches).toEqual([])
  })
})

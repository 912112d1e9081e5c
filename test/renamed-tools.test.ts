import { type Tool, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { call, shown } from './helpers.ts'

describe('a tool of another name', () => {
  it('keeps all it declares, and its own this', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    class Counter implements Tool {
      readonly name = 'count'
      readonly description = 'Counts.'
      readonly inputSchema = { type: 'object' }
      readonly maxResultChars = 40
      #calls = 0
      isAvailable() {
        return this.#calls < 1
      }
      execute() {
        this.#calls++
        return { ok: true as const, value: `${this.#calls} `.repeat(100) }
      }
    }
    registry.syncMcp('s', [new Counter()])
    const session = await registry.openSession()
    const result = await call(session, 'mcp__s__count')
    expect(result.ok && result.value).toBe('1 1 1 1 1 \n[truncated — 200 chars total]'.slice(-40))
    expect(result.ok && result.value).toHaveLength(40)
    expect(shown(session)).toEqual([])
  })
})

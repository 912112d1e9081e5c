import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'

const WEB_GLOBALS = {
  crypto,
  AbortController,
  AbortSignal,
  TextEncoder,
  TextDecoder,
  URL,
  structuredClone,
  setTimeout,
  clearTimeout,
  queueMicrotask,
  performance,
}

describe('the core outside Node', () => {
  it('registers, searches and runs with browser APIs only, dependencies included', async () => {
    const bundle = await rolldown({
      input: fileURLToPath(new URL('../src/index.ts', import.meta.url)),
      platform: 'browser',
      // The exact token counter is imported on first use; a page that wants it loads it then.
      external: ['gpt-tokenizer/encoding/o200k_base'],
      logLevel: 'silent',
    })
    const { output } = await bundle.generate({ format: 'iife', name: 'toolcrib' })
    const [{ code, imports }] = output
    expect(imports.filter((name) => !name.startsWith('gpt-tokenizer'))).toEqual([])

    const page = createContext({ ...WEB_GLOBALS })
    new Script(code).runInContext(page)
    const answer = await new Script(`(async () => {
      const registry = new toolcrib.ToolRegistry({ mode: 'lazy' })
      registry.syncMcp('weather', [{
        name: 'get_forecast', description: 'Get the weather forecast for a city.',
        inputSchema: { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] },
        execute: ({ city }) => ({ ok: true, value: 'rain in ' + city }),
      }])
      const session = await registry.openSession()
      const { matches } = await session.search('/forecast/')
      const [call] = await session.execute([{ toolCallId: '1', name: matches[0].name, args: { city: 'Oslo' } }])
      return JSON.stringify([typeof process, call.result])
    })()`).runInContext(page)
    expect(JSON.parse(answer)).toEqual(['undefined', { ok: true, value: 'rain in Oslo' }])
  })
})

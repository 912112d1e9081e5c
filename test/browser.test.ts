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

/** Bundles entry points for a browser, dependencies included, and loads each into a page under its name. */
async function openPage(entries: Readonly<Record<string, string>>) {
  const page = createContext({ ...WEB_GLOBALS })
  for (const [name, path] of Object.entries(entries)) {
    const bundle = await rolldown({
      input: fileURLToPath(new URL(path, import.meta.url)),
      platform: 'browser',
      // Imported on first use: a page that counts tokens exactly, or asks a provider through its SDK, loads it then.
      external: LOADED_ON_USE,
      logLevel: 'silent',
    })
    const { output } = await bundle.generate({ format: 'iife', name })
    const [{ code, imports }] = output
    expect(imports.filter((module) => !LOADED_ON_USE.includes(module))).toEqual([])
    new Script(code).runInContext(page)
  }
  return page
}

/** The bytes that a page loads before its first search, for a program that imports only this name. */
async function bytesAtStart(name: string): Promise<number> {
  const bundle = await rolldown({
    input: 'start',
    platform: 'browser',
    external: LOADED_ON_USE,
    logLevel: 'silent',
    plugins: [
      {
        name: 'start',
        resolveId: (id) => (id === 'start' ? id : null),
        load: (id) => (id === 'start' ? `export { ${name} } from ${JSON.stringify(INDEX)}` : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  const chunks = output.filter((chunk) => chunk.type === 'chunk')
  const atStart = new Set(chunks.filter(({ isEntry }) => isEntry))
  for (const { imports } of atStart)
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) atStart.add(chunk)
  return [...atStart].reduce((sum, { code }) => sum + Buffer.byteLength(code), 0)
}

const INDEX = fileURLToPath(new URL('../src/index.ts', import.meta.url))

const LOADED_ON_USE = ['gpt-tokenizer/encoding/o200k_base', '@anthropic-ai/sdk', '@google/genai', 'openai']

describe('the core outside Node', () => {
  it('registers, searches and runs with what a browser has, dependencies included', async () => {
    const page = await openPage({ toolcrib: '../src/index.ts' })
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

  it('loads little before its first search', async () => {
    expect(await bytesAtStart('ToolRegistry')).toBeLessThan(160_000)
  })

  it('runs an agent and a sub-agent with what a browser has', async () => {
    const page = await openPage({ toolcrib: '../src/index.ts', agent: '../src/agent/index.ts' })
    const answer = await new Script(`(async () => {
      const registry = new toolcrib.ToolRegistry()
      const session = await registry.openSession()
      const model = agent.scriptedModel([
        { calls: [{ name: 'agent', args: { agent: 'worker', task: 'Work.' } }] },
        { text: 'Worked.' },
        { text: 'All done.' },
      ])
      const worker = agent.parseAgent('---\\nname: worker\\ndescription: Works.\\n---\\nWork well.')
      registry.register(agent.agentTool({ agents: [worker], model, session }))
      const result = await agent.runAgent({ model, session, messages: 'Go.' })
      return JSON.stringify([typeof process, result.text, result.ledger.requests])
    })()`).runInContext(page)
    expect(JSON.parse(answer)).toEqual(['undefined', 'All done.', 3])
  })
})

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createContext, Script } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { CORE_CHUNKS } from '../scripts/core-chunks.ts'

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
async function openPage(entries: Readonly<Record<string, string>>, loadedOnUse = LOADED_ON_USE) {
  const page = createContext({ ...WEB_GLOBALS })
  for (const [name, path] of Object.entries(entries)) {
    const bundle = await rolldown({
      input: fileURLToPath(new URL(path, import.meta.url)),
      platform: 'browser',
      // The sources, whether or not there is a build.
      resolve: {
        alias: {
          '@toolcrib/core/internal': INTERNAL,
          '@toolcrib/core': INDEX,
          '@toolcrib/embedder': EMBEDDER,
        },
      },
      // In one file without imports, rolldown leaves out the start of modules that it takes to have no effects.
      treeshake: false,
      // Imported on first use: a page that asks a provider through its SDK loads it then.
      external: loadedOnUse,
      logLevel: 'silent',
    })
    const { output } = await bundle.generate({ format: 'iife', name })
    const [{ code, imports }] = output
    expect(imports.filter((module) => !loadedOnUse.includes(module))).toEqual([])
    new Script(code).runInContext(page)
  }
  return page
}

/** Builds the package as it is published, without types. */
async function packCore(directory: string): Promise<string> {
  const bundle = await rolldown({
    input: { index: INDEX, internal: INTERNAL },
    platform: 'neutral',
    external: LOADED_ON_USE,
    logLevel: 'silent',
  })
  await bundle.write({ dir: directory, format: 'esm', codeSplitting: { groups: CORE_CHUNKS } })
  await writeFile(join(directory, 'package.json'), '{ "type": "module", "sideEffects": false }')
  return join(directory, 'index.js')
}

/** Imports of files whose names end in `.mjs`. */
const mjs = (code: string) => code.replace(/(["'`]\.\/[^"'`]+\.js)(["'`])/g, '$1.mjs$2')

/** Registers, searches and calls tools. */
const PAGE = `
import { ToolRegistry } from './start.js.mjs'
const registry = new ToolRegistry()
for (let n = 0; n < 20; n++) registry.register({
  name: 'get_rain_' + n, description: 'Gets the rain of a city.', execute: ({ city }) => 'rain in ' + city,
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
})
const session = await registry.openSession()
session.surface()
const [found] = await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'get rain' } }])
const [called] = await session.execute([{ toolCallId: '2', name: 'get_rain_3', args: { city: 'Oslo' } }])
console.log(JSON.stringify({ ok: [found.result.ok, called.result.ok], loaded: globalThis.loaded }))
`

/** What a page may load, for a program that imports only this name. */
async function chunksFor(name: string, from = INDEX) {
  const bundle = await rolldown({
    input: 'start',
    platform: 'browser',
    external: LOADED_ON_USE,
    logLevel: 'silent',
    plugins: [
      {
        name: 'start',
        resolveId: (id) => (id === 'start' ? id : null),
        load: (id) => (id === 'start' ? `export { ${name} } from ${JSON.stringify(from)}` : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  return output.filter((chunk) => chunk.type === 'chunk')
}

/** The bytes that it loads before its first search. */
async function bytesAtStart(name: string): Promise<number> {
  const chunks = await chunksFor(name)
  const atStart = new Set(chunks.filter(({ isEntry }) => isEntry))
  for (const { imports } of atStart)
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) atStart.add(chunk)
  return [...atStart].reduce((sum, { code }) => sum + Buffer.byteLength(code), 0)
}

const INDEX = fileURLToPath(new URL('../packages/core/src/index.ts', import.meta.url))
const INTERNAL = fileURLToPath(new URL('../packages/core/src/internal.ts', import.meta.url))

const EMBEDDER = fileURLToPath(new URL('../packages/embedder/src/index.ts', import.meta.url))

const SDKS = ['@anthropic-ai/sdk', '@google/genai', 'openai']
const LOADED_ON_USE = [...SDKS, '@toolcrib/embedder']

describe('the core outside Node', () => {
  it('registers, searches and runs with what a browser has, dependencies included', async () => {
    const page = await openPage({ toolcrib: '../packages/core/src/index.ts' })
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
      return JSON.stringify([typeof process, call.result, registry.searcher.name])
    })()`).runInContext(page)
    expect(JSON.parse(answer)).toEqual(['undefined', { ok: true, value: 'rain in Oslo' }, 'lexical'])
  })

  it('searches by words, and says why, where the embedder is bundled without its file', async () => {
    const page = await openPage({ toolcrib: '../packages/core/src/index.ts' }, SDKS)
    const answer = await new Script(`(async () => {
      const degraded = []
      const registry = new toolcrib.ToolRegistry()
      registry.subscribe((event) => event.type === 'search-degraded' && degraded.push(event.error))
      await registry.search('anything')
      await registry.search('anything')
      return JSON.stringify([registry.searcher.name, degraded])
    })()`).runInContext(page)
    expect(JSON.parse(answer)).toEqual(['lexical', [expect.stringContaining('staticEmbedder({ bytes })')]])
  })

  it('searches by meaning with the bytes of the model', async () => {
    const page = await openPage({
      toolcrib: '../packages/core/src/index.ts',
      embedders: '../packages/embedder/src/index.ts',
    })
    page.bytes = readFileSync(new URL('../packages/embedder/models/tool-table-v6.bin', import.meta.url))
    const answer = await new Script(`(async () => {
      const embedder = embedders.staticEmbedder({ bytes })
      const registry = new toolcrib.ToolRegistry({ searcher: toolcrib.hybrid({ embedder }) })
      for (const [name, description] of [['get_forecast', 'The weather of a city.'], ['send_mail', 'Sends a message.']])
        registry.register({ name, description, inputSchema: { type: 'object' }, execute: () => '' })
      const { matches } = await registry.search('will it rain tomorrow')
      let missing
      try { embedders.staticEmbedder().embed(['x']) } catch (error) { missing = error.message }
      return JSON.stringify([matches[0].name, missing])
    })()`).runInContext(page)
    expect(JSON.parse(answer)).toEqual(['get_forecast', expect.stringContaining('staticEmbedder({ bytes })')])
  })

  it('loads little before its first search', async () => {
    expect(await bytesAtStart('ToolRegistry')).toBeLessThan(150_000)
  })

  it('is small to register, search and call tools', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolcrib-page-'))
    try {
      const package_ = await packCore(join(folder, 'core'))
      const chunks = await chunksFor('ToolRegistry', package_)
      const page = join(folder, 'page')
      await mkdir(page)
      const sizes = new Map(chunks.map(({ fileName, code }) => [fileName, gzipSync(code).length]))
      for (const { fileName, code } of chunks)
        await writeFile(
          join(page, `${fileName}.mjs`),
          mjs(`${code}\n;(globalThis.loaded ??= []).push('${fileName}')`),
        )
      await writeFile(join(page, 'page.mjs'), PAGE)
      const { stdout } = await promisify(execFile)(process.execPath, [join(page, 'page.mjs')])
      const { ok, loaded } = JSON.parse(stdout)
      expect(ok).toEqual([true, true])
      // The page's own file only imports the others.
      const [own = 0] = [sizes.get('start.js')]
      expect(own).toBeLessThan(200)
      const bytes = loaded.reduce((sum: number, file: string) => sum + (sizes.get(file) ?? 0), -own)
      expect(bytes).toBeLessThan(76_000)
      // With all that it may load later.
      expect([...sizes.values()].reduce((sum, size) => sum + size)).toBeLessThan(108_000)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('loads no search by meaning', async () => {
    const modules = (await chunksFor('ToolRegistry')).flatMap(({ moduleIds }) => moduleIds)
    expect(modules.filter((id) => /hybrid|vectors/.test(id))).toEqual([])
  })

  it('runs an agent and a sub-agent with what a browser has', async () => {
    const page = await openPage({
      toolcrib: '../packages/core/src/index.ts',
      agent: '../packages/core/src/agent/index.ts',
    })
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

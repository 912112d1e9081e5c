import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { createGateway, GATEWAY_CAPABILITIES } from 'toolcrib/gateway'
import { createInspector, SignIns } from 'toolcrib/inspector'
import { lockServers, observeServers, openFromConfig, writeLockfile } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { build } from 'vite'
import { listen } from '../packages/toolcrib/src/serve/http-listener.ts'
import { SAMPLE_SCHEMAS } from './dialects/sample-schemas.ts'
import { authorized, speak } from './mcp/http-server.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'

const TOKEN = 'a-token-for-the-page-1234'
const CLIENT_TOKEN = 'a-token-for-a-client-1234'

/** Tools whose descriptions try everything that a page could fall for. */
export const HOSTILE = {
  script:
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"> [x](javascript:hacked=3)',
  style: '<style>body { display: none }</style> </main><iframe src="https://example.com"></iframe>',
  hidden: 'Looks\u200b harmless\u202e but is\u{e0041} not.',
  huge: 'Long. '.repeat(17_000),
}

export const RAIN = {
  name: 'get_rain',
  description: 'Tells how much rain fell in a city.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'number' } },
    required: ['city'],
  },
}

export const SLEEPING = 'memory'

const ANNOUNCE = { name: 'announce', description: 'Reads the list again.', inputSchema: { type: 'object' } }

/** A second of silence: 8,000 samples of 8 bits. */
const SOUND = Buffer.concat([
  Buffer.from(
    'RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x40\x1f\0\0',
    'latin1',
  ),
  Buffer.alloc(8_000, 128),
])
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 4"></svg>'

/** Every kind of content that a result can have, each as hostile as it can be. */
const CONTENT = [
  { type: 'text', text: `# A heading\n\n${HOSTILE.script}\n\n${HOSTILE.style}` },
  { type: 'image', data: PIXEL, mimeType: 'image/png' },
  { type: 'image', data: Buffer.from(SVG).toString('base64'), mimeType: 'image/svg+xml' },
  { type: 'audio', data: SOUND.toString('base64'), mimeType: 'audio/wav' },
  { type: 'audio', data: 'not base64!', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'note://1', mimeType: 'text/html', text: HOSTILE.script } },
  {
    type: 'resource',
    resource: { uri: 'data://2', mimeType: 'application/json', text: '{"depth":{"of":7}}' },
  },
  { type: 'resource', resource: { uri: 'blob://3', mimeType: 'image/png', blob: PIXEL } },
  { type: 'resource', resource: { uri: 'blob://4', mimeType: 'application/pdf', blob: 'JVBERi0=' } },
  { type: 'resource_link', name: 'elsewhere', uri: 'javascript:window.hacked=5' },
]

/** A server that wants people to sign in. */
async function startVault() {
  const handle = speak({ show: () => CONTENT, table: () => '{"rows":[{"city":"Bergen","mm":12}]}' })
  const server = createServer(authorized(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }
}

/** Builds the page once, as `npm run build` does, into a folder of its own. */
export async function buildPage(outDir: string): Promise<void> {
  const configFile = join(import.meta.dirname, '../packages/gateway/src/inspector/page/vite.config.ts')
  const { NODE_ENV } = process.env
  // As tests set it, the page would be built for development: larger by a fifth, with the paths of its files.
  process.env.NODE_ENV = 'production'
  try {
    await build({ configFile, logLevel: 'error', build: { outDir, emptyOutDir: true } })
  } finally {
    process.env.NODE_ENV = NODE_ENV
  }
}

/** Starts a browser; undefined where none can start, except in CI, where that is a failure. */
export async function openBrowser(): Promise<Browser | undefined> {
  try {
    // Loaded here: other tests only build the page.
    const { chromium } = await import('playwright-core')
    const { default: sparticuz } = await import('@sparticuz/chromium')
    const executablePath = await sparticuz.executablePath()
    // As root, Chromium runs without its sandbox only. The page is our own, and so is everything that it loads.
    return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true })
  } catch (error) {
    if (process.env.CI === 'true') throw error
    console.warn(`the tests of the page are skipped: no browser starts here (${(error as Error).message})`)
    return undefined
  }
}

/** The built page before a gateway with real servers, a lockfile, and a home that belongs to the test. */
export async function openInspector() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-page-')))
  const path = (...names: string[]) => join(folder, ...names)
  const env = { PATH: process.env.PATH, HOME: path('home'), XDG_CONFIG_HOME: path('home', '.config') }
  mkdirSync(path('home', '.cursor'), { recursive: true })
  const list = (...tools: object[]) => writeFileSync(path('tools.json'), JSON.stringify([ANNOUNCE, ...tools]))
  const hostile = Object.entries(HOSTILE).map(([name, description]) => ({ ...RAIN, name, description }))
  list(RAIN, ...hostile)
  const vault = await startVault()
  writeFileSync(path('toolcrib.toml'), configText(folder, vault.url))
  const signIns = new SignIns({ origin: 'http://127.0.0.1' })
  const find = { path: path('toolcrib.toml'), cwd: folder, env }
  const store = memoryStore()
  // What it lists is known from before, so it is asleep until somebody needs it.
  const before = await openFromConfig({ ...find, store, servers: (name) => name === SLEEPING })
  await before.servers.ready()
  await before.close()
  const opened = await openFromConfig({
    ...find,
    store,
    connect: { client: { capabilities: GATEWAY_CAPABILITIES }, oauth: signIns.oauth },
  })
  const { registry, servers } = opened
  await servers.ready()
  const observed = new Map(await observeServers(opened, find))
  // Approved by somebody who had signed in.
  const tools = ['show', 'table'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }))
  const { config = { url: vault.url } } = observed.get('vault') ?? {}
  const lockfile = lockServers(observed.set('vault', { config, tools }))
  await writeLockfile(path('toolcrib.lock'), lockfile)
  await servers.relock(lockfile)
  // As a server's tools, because an own tool with a malformed schema is refused.
  registry.syncMcp(
    'samples',
    Object.entries(SAMPLE_SCHEMAS).map(([name, inputSchema]) => ({
      name: `sample_${name.replaceAll(/\W+/g, '_')}`,
      description: `A sample: ${name}.`,
      inputSchema,
      execute: () => ({ ok: true, value: 'done' }),
    })),
  )
  const gateway = createGateway({
    registry,
    servers,
    audit: { directory: path('audit') },
    tokens: [
      { token: TOKEN, name: 'operator', operator: true },
      { token: CLIENT_TOKEN, name: 'tests' },
    ],
  })
  const inspector = createInspector({
    registry,
    servers,
    access: gateway.access,
    store: memoryStore(),
    config: { opened, find },
    gateway,
    signIns,
    connect: {
      home: path('home'),
      platform: 'linux',
      env,
      cwd: folder,
      door: { kind: 'stdio', command: 'toolcrib', args: ['serve', '--stdio'] },
    },
    assets: path('built'),
    // The pauses of the scripted conversation are for people.
    schedule: (delayMs, fire) => {
      const timer = setTimeout(fire, Math.min(delayMs, 150))
      return () => clearTimeout(timer)
    },
  })
  await buildPage(path('built'))
  const listener = await listen((request) => inspector.fetch(request), {
    host: '127.0.0.1',
    port: 0,
    direct: (request, response) => gateway.handle(request, response),
  })
  signIns.origin = listener.origin
  return {
    origin: listener.origin,
    url: `${listener.origin}/#token=${TOKEN}`,
    token: TOKEN,
    clientToken: CLIENT_TOKEN,
    gateway,
    registry,
    servers,
    path,
    list,
    read: (...names: string[]) => readFileSync(path(...names), 'utf8'),
    write: (name: string, text: string) => writeFileSync(path(name), text),
    close: async () => {
      await inspector.close()
      await gateway.close()
      await listener.close({ graceMs: 0 })
      await opened.close()
      vault.server.closeAllConnections()
      vault.server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

function configText(folder: string, vault: string): string {
  const args = (...values: string[]) => JSON.stringify(values)
  return `# My servers.
[tools]
ask = ["everything.get-sum"]

[server.everything]
command = ${JSON.stringify(process.execPath)}
args = ${args(referenceServer('everything'))}

[server.files] # only this folder
command = ${JSON.stringify(process.execPath)}
args = ${args(referenceServer('filesystem'), folder)}
env = { API_TOKEN = "sk-not-for-the-page-1234567890" }

[server.memory]
command = ${JSON.stringify(process.execPath)}
args = ${args(referenceServer('memory'))}
env = { MEMORY_FILE_PATH = ${JSON.stringify(join(folder, 'memory.jsonl'))} }

[server.weather]
command = ${JSON.stringify(process.execPath)}
args = ${args(join(import.meta.dirname, 'fixtures/changing-server.mjs'), join(folder, 'tools.json'))}

[server.vault]
url = ${JSON.stringify(vault)}

# Nothing answers there.
[server.nowhere]
url = "http://127.0.0.1:9/mcp"
`
}

/** What a page must not do: write errors to the console, fail, or talk to anybody else. */
export function watchPage(page: Page, origin: string): readonly string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(?:blob|data):/.test(url)) faults.push(`request: ${url}`)
  })
  return faults
}

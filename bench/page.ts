// How soon does the page paint, and do its frames stay even at 100 events a second? Each beside what the same browser needs without
// it: a page of one word, and a view at which nothing happens. Needs a Chromium. `npm run bench -- page`
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { ToolRegistry } from 'toolcrib'
import { createGateway } from 'toolcrib/gateway'
import { createInspector } from 'toolcrib/inspector'
import { connectServers } from 'toolcrib/mcp'
import { build } from 'vite'
import { listen } from '../packages/toolcrib/src/serve/http-listener.ts'
import { median, printTable, ratio } from './report.ts'

const TOKEN = 'a-token-for-the-page-1234'
const TOOLS = 300
const EVENTS_PER_SECOND = 100
const VIEWS = { overview: '', live: 'live', sessions: 'sessions' } as const

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const browser = await openBrowser()
  if (!browser) return
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  const crib = await serve(folder)
  try {
    await reportPaints(browser, crib.origin, smoke ? 1 : 9)
    await reportFrames(browser, crib, smoke ? 500 : 5_000)
  } finally {
    await browser.close()
    await crib.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function openBrowser(): Promise<Browser | undefined> {
  try {
    const { chromium } = await import('playwright-core')
    const { default: sparticuz } = await import('@sparticuz/chromium')
    const executablePath = await sparticuz.executablePath()
    return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  } catch (error) {
    console.log(`page: skipped, no browser starts here (${(error as Error).message.split('\n', 1)[0]})`)
    return undefined
  }
}

/** The built page over a registry in this process. */
async function serve(folder: string) {
  const configFile = join(import.meta.dirname, '../packages/gateway/src/inspector/page/vite.config.ts')
  await build({ configFile, logLevel: 'error', build: { outDir: folder, emptyOutDir: true } })
  const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
  registry.syncMcp(
    'big',
    Array.from({ length: TOOLS }, (_, index) => ({
      name: `tool_${index}`,
      description: `Does thing ${index}.`,
      inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
      execute: () => ({ ok: true as const, value: '' }),
    })),
  )
  const servers = connectServers(registry, {})
  const gateway = createGateway({ registry, servers, tokens: [{ token: TOKEN, operator: true }] })
  const inspector = createInspector({ registry, servers, access: gateway.access, gateway, assets: folder })
  const listener = await listen(
    async (request) =>
      new URL(request.url).pathname === '/word'
        ? new Response('<!doctype html>word', { headers: { 'content-type': 'text/html' } })
        : inspector.fetch(request),
    { host: '127.0.0.1', port: 0, direct: (request, response) => gateway.handle(request, response) },
  )
  return {
    origin: listener.origin,
    registry,
    close: async () => {
      await inspector.close()
      await gateway.close()
      await listener.close({ graceMs: 0 })
      await servers.close()
    },
  }
}

type Crib = Awaited<ReturnType<typeof serve>>

async function reportPaints(browser: Browser, origin: string, rounds: number): Promise<void> {
  const paints: Record<string, number[]> = { 'a page of one word': [], 'the page': [], 'its figures': [] }
  for (let round = 0; round < rounds; round++) {
    paints['a page of one word']?.push((await paint(browser, `${origin}/word`)).firstPaint)
    const { firstPaint, figures } = await paint(browser, `${origin}/#token=${TOKEN}`, 'tokens saved today')
    paints['the page']?.push(firstPaint)
    paints['its figures']?.push(figures)
  }
  console.log(`page: milliseconds from loopback with an empty cache, of ${rounds} starts`)
  printTable(
    Object.entries(paints).map(([name, all]) => {
      const next = [...all]
      return {
        name,
        best: Math.min(...all).toFixed(0),
        median: median(all.length, () => next.pop() ?? 0).toFixed(0),
      }
    }),
  )
}

/** When something is painted first, and when a text is there, both since the start of the navigation. */
async function paint(browser: Browser, url: string, text?: string) {
  const page = await browser.newPage()
  await page.goto(url)
  if (text !== undefined) await page.getByText(text).waitFor()
  const times = await page.evaluate(async () => {
    const figures = performance.now()
    for (;;) {
      const firstPaint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime
      if (firstPaint !== undefined) return { firstPaint, figures }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })
  await page.close()
  return times
}

async function reportFrames(browser: Browser, { origin, registry }: Crib, ms: number): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${origin}/#token=${TOKEN}`)
  await page.getByText('tokens saved today').waitFor()
  const rows = []
  for (const [name, view] of Object.entries(VIEWS)) {
    await page.evaluate((hash) => {
      location.hash = hash
    }, `#/${view}`)
    const quiet = await frames(page, ms)
    const stop = emit(registry)
    const busy = await frames(page, ms)
    stop()
    rows.push({
      view: name,
      'frames/s': busy.rate.toFixed(0),
      'of quiet': ratio(busy.rate, quiet.rate),
      'over 50 ms': busy.slow,
      'quiet ': quiet.slow,
      'longest ms': busy.longest.toFixed(0),
      quiet: quiet.longest.toFixed(0),
    })
  }
  console.log(`page: frames at ${EVENTS_PER_SECOND} events a second, for ${ms} ms in each view`)
  printTable(rows)
}

/** How evenly a page draws. */
async function frames(page: Page, ms: number) {
  return page.evaluate(async (duration) => {
    const gaps: number[] = []
    const begun = performance.now()
    let last = begun
    while (last - begun < duration) {
      const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
      gaps.push(now - last)
      last = now
    }
    const slow = gaps.filter((gap) => gap > 50).length
    return { rate: (1_000 * gaps.length) / (last - begun), slow, longest: Math.max(...gaps) }
  }, ms)
}

/** Emits what busy sessions do; returns how to stop. */
function emit(registry: ToolRegistry): () => void {
  let count = 0
  const timer = setInterval(() => {
    for (let each = 0; each < EVENTS_PER_SECOND / 20; each++) {
      const at = count++
      const toolCallId = String(at >> 1)
      const name = `mcp__big__tool_${at % TOOLS}`
      const sessionId = `busy-${at % 5}`
      if (at % 2 === 0) registry.emit({ type: 'call-started', toolCallId, name, sessionId })
      else
        registry.emit({
          type: 'call-finished',
          toolCallId,
          name,
          sessionId,
          ok: true,
          durationMs: 5,
          chars: 9,
        })
    }
  }, 50)
  return () => clearInterval(timer)
}

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

/** `npm run picture`: takes pictures of the page, served by the built command line with the bundled servers. */
const root = join(import.meta.dirname, '..', '..')
const MAX_BYTES = 250_000

const gateway = await startGateway()
const browser = await chromium.launch({
  executablePath: await sparticuz.executablePath(),
  // As root, Chromium runs without its sandbox only. It opens nothing but this page.
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  await play(browser)
  await take(browser, { view: '', colours: 'light', height: 1000, file: 'page-overview.png' })
  const search = 'search/read the first lines of a file'
  await take(browser, { view: search, colours: 'dark', height: 760, file: 'page-search.png' })
} finally {
  await browser.close()
  await gateway.stop()
}

/** The gateway of `npm start`, with a state folder of its own, so that the figures are those of this conversation. */
async function startGateway() {
  const state = mkdtempSync(join(tmpdir(), 'toolcrib-picture-'))
  const env = { ...process.env, HOME: state, XDG_STATE_HOME: state, XDG_CONFIG_HOME: state }
  const chosen = ['--config', 'examples/gateway/toolcrib.toml', '--lockfile', join(state, 'toolcrib.lock')]
  const run = (...args: readonly string[]) => [
    join('packages', 'toolcrib', 'dist', 'main.js'),
    ...args,
    ...chosen,
  ]
  execFileSync(process.execPath, run('lock'), { cwd: root, env })
  const args = run('serve', '--port', '0', '--json')
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { page }: { page: string } = JSON.parse(line)
  return {
    page,
    stop: async () => {
      child.kill()
      await once(child, 'exit')
      rmSync(state, { recursive: true })
    },
  }
}

/** Plays the tour's conversation three times, so that every figure has something to show. */
async function play(browser: Browser): Promise<void> {
  const page = await browser.newPage()
  await page.goto(gateway.page)
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  for (let round = 1; round < 3; round++)
    await page.getByRole('button', { name: 'Play again' }).click({ timeout: 120_000 })
  await page.getByRole('button', { name: 'Play again' }).isEnabled({ timeout: 120_000 })
  await page.close()
}

interface Shot {
  readonly view: string
  readonly colours: 'light' | 'dark'
  readonly height: number
  readonly file: string
}

async function take(browser: Browser, { view, colours, height, file }: Shot): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: 1240, height },
    deviceScaleFactor: 1.25,
    colorScheme: colours,
    reducedMotion: 'reduce',
  })
  await page.addInitScript(() => localStorage.setItem('toolcrib-guide', 'done'))
  await page.goto(gateway.page)
  await page.evaluate((to) => {
    location.hash = `#/${to.split('/').map(encodeURIComponent).join('/')}`
  }, view)
  await page.locator('main .card .figure, main .match').first().waitFor()
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  const path = join(root, 'docs', file)
  await page.screenshot({ path })
  await page.close()
  const { size } = statSync(path)
  if (size > MAX_BYTES)
    throw new Error(`${relative(root, path)} has ${size} bytes; at most ${MAX_BYTES} are fine`)
  console.log(`${relative(root, path)}: ${Math.round(size / 1_000)} kB`)
}

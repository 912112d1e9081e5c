import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFaults, markupFaults, widthFaults } from './check-data.ts'
import { openProgram, typeFaults } from './check-programs.ts'
import { writeCommands } from './commands.ts'
import { writeConfigKeys } from './config-keys.ts'
import { writeErrorCodes } from './error-codes.ts'
import { linkFaults } from './links.ts'
import { ROOT, readPages } from './pages.ts'
import { readEntries, readGaps } from './public-names.ts'
import { type GeneratedPage, writeReference } from './reference.ts'

const USAGE = `npm run docs                 builds the site into docs/.vitepress/dist
npm run docs -- dev          serves it, and reloads pages as they change
npm run docs -- preview      serves what was built
npm run docs -- reference    writes docs/reference from the doc comments
npm run docs -- check        compiles every program, and checks the reference, links and configs`

const [command = 'build', ...rest] = process.argv.slice(2)
if (command === 'build' || command === 'dev' || command === 'preview') site(command, rest)
else if (command === 'reference') await reference()
else if (command === 'check') await check()
else {
  console.error(USAGE)
  process.exitCode = 2
}

function site(action: string, flags: readonly string[]): void {
  const program = join(ROOT, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  const { status } = spawnSync(process.execPath, [program, action, 'docs', ...flags], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}

async function reference(): Promise<void> {
  const { pages, gaps } = await generate()
  const changed = pages.filter(isStale)
  for (const { path, text } of changed) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true })
    writeFileSync(join(ROOT, path), text)
  }
  console.log(`${changed.length} of ${pages.length} pages written`)
  for (const gap of gaps) console.log(gap)
}

async function check(): Promise<void> {
  const { pages, gaps, faults } = await generate()
  const stale = pages
    .filter(isStale)
    .map(({ path }) => `${path} is not what the code says: npm run docs -- reference`)
  const read = readPages()
  const all = [
    ...faults,
    ...gaps,
    ...stale,
    ...linkFaults(read, readdirSync(ROOT)),
    ...dataFaults(read),
    ...markupFaults(read),
    ...widthFaults(read),
  ]
  for (const fault of all) console.log(fault)
  const programs = read.flatMap(({ blocks }) => blocks).filter(({ language }) => language === 'ts')
  console.log(`${read.length} pages, ${programs.length} programs, ${all.length} faults`)
  process.exitCode = all.length > 0 ? 1 : 0
}

async function generate() {
  const pages = readPages()
  const programs = pages.flatMap(({ blocks }) => blocks).filter(({ language }) => language === 'ts')
  const opened = openProgram(programs)
  const entries = readEntries(opened)
  const missing = readGaps(entries)
  const config = writeConfigKeys(opened.program)
  const errors = writeErrorCodes(opened.program)
  const generated: readonly GeneratedPage[] = [
    ...writeReference(entries),
    { path: 'docs/reference/config.md', text: config.text },
    { path: 'docs/reference/errors.md', text: errors.text },
    { path: 'docs/reference/commands.md', text: await writeCommands() },
  ]
  return {
    pages: generated,
    gaps: [...missing.comments, ...missing.examples, ...config.gaps, ...errors.gaps],
    faults: typeFaults(opened),
  }
}

function isStale({ path, text }: GeneratedPage): boolean {
  return !existsSync(join(ROOT, path)) || readFileSync(join(ROOT, path), 'utf8') !== text
}

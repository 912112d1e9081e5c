/**
 * What happens when several processes find the lock of a killed process? Six processes, one stale lock of
 * proper-lockfile, one update each, sixty times: `CANDIDATES=/tmp/candidates node bench/store/stale-lock.mjs`.
 */
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROCESSES = 6
const ROUNDS = 60

if (process.send === undefined) await compare()
else process.on('message', increment)

async function compare() {
  const children = Array.from({ length: PROCESSES }, () => fork(fileURLToPath(import.meta.url)))
  let lost = 0
  for (let round = 0; round < ROUNDS; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-stale-lock-'))
    const file = join(folder, 'counter')
    writeFileSync(file, '0')
    mkdirSync(`${file}.lock`)
    utimesSync(`${file}.lock`, 1, 1)
    await Promise.all(children.map((child) => ask(child, file)))
    lost += PROCESSES - Number(readFileSync(file, 'utf8'))
    rmSync(folder, { recursive: true })
  }
  for (const child of children) child.disconnect()
  console.log(`${lost} of ${PROCESSES * ROUNDS} updates lost`)
}

function ask(child, file) {
  return new Promise((resolve) => {
    child.once('message', resolve)
    child.send(file)
  })
}

async function increment(file) {
  const { lock } = createRequire(join(process.env.CANDIDATES ?? process.cwd(), 'package.json'))(
    'proper-lockfile',
  )
  const retries = { retries: 2_000, minTimeout: 1, maxTimeout: 5 }
  const release = await lock(file, { realpath: false, stale: 2_000, retries, onCompromised: () => {} })
  const count = Number(readFileSync(file, 'utf8'))
  await new Promise((resolve) => setTimeout(resolve, 3))
  writeFileSync(file, String(count + 1))
  // Fails when another process has removed the lock.
  await release().catch(() => {})
  process.send('done')
}

// Loaded before a program: appends each block of its event loop to the file that BLOCKS_FILE names, as "<end> <ms>". Time in which
// the program did not run, because the processor was busy with others, does not count.
const { appendFileSync, readFileSync } = require('node:fs')

const EVERY_MS = 5
const WORTH_TELLING_MS = 20

const file = process.env.BLOCKS_FILE
let last = performance.now()
let used = usedMs()
if (file)
  setInterval(() => {
    const now = performance.now()
    const usedNow = usedMs()
    const blockedMs = Math.min(now - last - EVERY_MS, usedNow - used)
    last = now
    used = usedNow
    if (blockedMs > WORTH_TELLING_MS) appendFileSync(file, `${Date.now()} ${blockedMs.toFixed(0)}\n`)
  }, EVERY_MS).unref()

/** The processor time of this thread; that of all threads if the system does not report it. */
function usedMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
}

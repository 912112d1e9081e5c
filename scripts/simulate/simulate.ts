// Simulates replicas, servers, clients and a Redis in one process, with everything that can go wrong:
//   npm run simulate -- [--seeds 200] [--from 1]     many seeds; those that fail are named
//   npm run simulate -- --seed 123                   one seed, with its schedule
//   npm run simulate -- --figures                    what one conversation asks of Redis
// A seed decides everything: the same one has the same schedule, every time.
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { printFigures } from './figures.ts'
import { runSeed } from './scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    figures: { type: 'boolean', default: false },
  },
})

if (values.figures) await printFigures()
else if (values.seed !== undefined) await replay(Number(values.seed))
else await runMany(Number(values.from), Number(values.seeds))

async function replay(seed: number): Promise<void> {
  const first = await runSeed(seed)
  const second = await runSeed(seed)
  for (const line of first.trace) console.log(line)
  const isSame = digest(first.trace) === digest(second.trace)
  console.log(
    `seed ${seed}: ${first.steps} steps, ${isSame ? 'the same' : 'ANOTHER schedule'} when it is replayed`,
  )
  const at = first.trace.findIndex((line, number) => line !== second.trace[number])
  if (!isSame) console.log(`they differ from here on:\n${first.trace[at]}\n${second.trace[at]}`)
  if (first.violation !== undefined) console.log(first.violation)
  if (first.violation !== undefined || !isSame) process.exitCode = 1
}

async function runMany(from: number, count: number): Promise<void> {
  const begun = process.hrtime.bigint()
  const failed: number[] = []
  const totals: Record<string, number> = {}
  const schedules = createHash('sha256')
  let steps = 0
  let cold = ''
  for (let seed = from; seed < from + count; seed++) {
    const report = await runSeed(seed)
    steps += report.steps
    cold ||= digest(report.trace)
    schedules.update(digest(report.trace))
    for (const [kind, number] of Object.entries(report.counts)) totals[kind] = (totals[kind] ?? 0) + number
    // Now and then a seed is run twice: a schedule that is not the same again is worth nothing.
    if (seed % 50 === 0 && digest((await runSeed(seed)).trace) !== digest(report.trace)) {
      failed.push(seed)
      console.log(`seed ${seed} has another schedule when it is replayed`)
    }
    const done = seed - from + 1
    if (done % 500 === 0 && done < count) console.log(`${done} of ${count} seeds, ${failed.length} failed`)
    if (report.violation === undefined) continue
    failed.push(seed)
    console.log(`seed ${seed}: ${report.violation.split('\n')[0]}`)
    console.log(report.trace.slice(-15).join('\n'))
  }
  // And the first once more: what only its run had to load and compile must not show.
  if (digest((await runSeed(from)).trace) !== cold) {
    failed.push(from)
    console.log(`seed ${from} has another schedule when it is replayed after the others`)
  }
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9
  console.log(`${count} seeds, ${steps} steps, ${seconds.toFixed(1)} s; ${JSON.stringify(totals)}`)
  // Equal whenever, and wherever, the same code runs the same seeds.
  console.log(`schedules: ${schedules.digest('hex').slice(0, 16)}`)
  if (failed.length > 0) {
    console.log(`${failed.length} failed: ${failed.join(', ')}; replay one with --seed N`)
    process.exitCode = 1
  }
}

function digest(trace: readonly string[]): string {
  return createHash('sha256').update(trace.join('\n')).digest('hex')
}

import { readdirSync } from 'node:fs'

// One file per question; runs all of them when none is named.
const USAGE = 'npm run bench [-- names…] [-- --smoke] [-- --plot] [-- --tools N]'
const { names, tools } = readArguments(process.argv.slice(2))
const smoke = process.argv.includes('--smoke')
const plot = process.argv.includes('--plot')

const isQuestion = (file: string) =>
  file.endsWith('.ts') && !['run.ts', 'report.ts'].includes(file) && !file.endsWith('.test.ts')
const questions = readdirSync(import.meta.dirname)
  .filter(isQuestion)
  .map((file) => file.replace('.ts', ''))

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
if (flags.some((flag) => !['--smoke', '--plot', '--tools'].includes(flag)) || Number.isNaN(tools)) {
  console.log(`${USAGE}\n\nbenchmarks: ${questions.join(', ')}; all of them when none is named`)
  console.log('--smoke: run briefly, to check that they work; ignore the figures')
  console.log('--plot: draws docs/recall.svg from the results of recall')
  console.log('--tools N: measures scale with N tools only')
  process.exit(flags.includes('--help') ? 0 : 2)
}

const unknown = names.filter((name) => !questions.includes(name))
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(', ')}; use one of ${questions.join(', ')}`)
  process.exit(2)
}

for (const question of questions.filter((name) => names.length === 0 || names.includes(name))) {
  const { run } = await import(`./${question}.ts`)
  await run({ smoke, plot, ...(tools === undefined ? {} : { tools }) })
}

function readArguments(given: readonly string[]): { names: string[]; tools: number | undefined } {
  const at = given.indexOf('--tools')
  const count = Number(given[at + 1])
  const isCount = Number.isInteger(count) && count > 0
  return {
    names: given.filter((argument, place) => !argument.startsWith('--') && (at < 0 || place !== at + 1)),
    tools: at < 0 ? undefined : isCount ? count : Number.NaN,
  }
}

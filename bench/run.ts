import { readdirSync } from 'node:fs'

/** `npm run bench [-- names…] [-- --smoke]`: one file a question; all of them when none is named. `--plot` draws what can be. */
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const smoke = process.argv.includes('--smoke')
const plot = process.argv.includes('--plot')

const isQuestion = (file: string) =>
  file.endsWith('.ts') && !['run.ts', 'report.ts'].includes(file) && !file.endsWith('.test.ts')
const questions = readdirSync(import.meta.dirname)
  .filter(isQuestion)
  .map((file) => file.replace('.ts', ''))

const unknown = names.filter((name) => !questions.includes(name))
if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(', ')}; there are ${questions.join(', ')}`)
  process.exit(2)
}

for (const question of questions.filter((name) => names.length === 0 || names.includes(name))) {
  const { run } = await import(`./${question}.ts`)
  await run({ smoke, plot })
}

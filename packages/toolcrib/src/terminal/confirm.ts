import { createInterface } from 'node:readline'
import type { Terminal } from './terminal.ts'

/** Asks a question on the terminal. Ctrl-C and the end of input mean no; an empty line means `isDefault`. */
export function confirm(
  { input, output }: Terminal,
  question: string,
  { isDefault = false } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const lines = createInterface({ input, output })
    lines.once('close', () => resolve(false))
    lines.question(`\n${question} ${isDefault ? '[Y/n]' : '[y/N]'} `, (answer) => {
      const said = answer.trim()
      resolve(said === '' ? isDefault : /^y(es)?$/i.test(said))
      lines.close()
    })
  })
}

import { runCommandLine } from '../../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { wrap } from '../../packages/toolcrib/src/terminal/text.ts'

/** What this many commands say alike is written once. */
const SEVERAL = 3
const WIDTH = 100

/** The help of every command, as the command line prints it, but for what several have in common. */
export async function writeCommands(): Promise<string> {
  const groups = [...(await helpOf([])).matchAll(/^(\S.*):\n((?: {2}\S.*\n)+)/gm)]
    .map(([, title = '', rows = '']) => ({ title, names: namesIn(rows) }))
    .filter(({ names }) => names.length > 0)
  const helps = new Map<string, readonly string[]>()
  for (const name of groups.flatMap(({ names }) => names))
    helps.set(name, withoutExamples((await helpOf([name])).trim().split('\n')))
  const counts = new Map<string, number>()
  for (const lines of helps.values())
    for (const line of new Set(lines.map(key))) counts.set(line, (counts.get(line) ?? 0) + 1)
  const said = [...counts].filter(([line, count]) => count >= SEVERAL && /^-|\.$/.test(line))
  said.sort(([, one], [, other]) => other - one)
  const shared = new Map<string, string>()
  // A flag that means several things keeps the most frequent of them.
  for (const [line] of said)
    if (line !== '' && !shared.has(flagIn(line) ?? line)) shared.set(flagIn(line) ?? line, line)
  const isShared = (line: string) => shared.get(flagIn(line) ?? key(line)) === key(line)
  const common = [
    ...new Map(
      [...helps.values()]
        .flat()
        .filter(isShared)
        .map((line) => [key(line), line]),
    ).values(),
  ]
  const sections = [...helps].map(([name, lines]) => {
    const flags = lines
      .filter(isShared)
      .flatMap((line) => flagIn(line) ?? [])
      .filter((flag) => flag !== '--help')
    const own = lines.filter((line) => !isShared(line))
    const also = flags.length > 0 ? [`Common options: ${flags.join(', ')}`] : []
    const text = [...own, ...also]
      .join('\n')
      .replace(/^Options:\n(?! )/m, '')
      .replace(/\n{3,}/g, '\n\n')
    return `## toolcrib ${name}\n\n${block(text.replace(/^Usage: /, ''))}`
  })
  return `<!-- Written by \`npm run docs -- reference\` from the help of the commands. -->

# Commands

What \`toolcrib <command> --help\` prints, without its examples and exit codes, and with the options and notes of several
commands once. [The command line](../command-line.md) explains exit codes, and what commands do together.

${block(
  `${common
    .flatMap((line) => (flagIn(line) ? aligned(line) : []))
    .sort()
    .join('\n')}\n\n${common.filter((line) => !flagIn(line)).join('\n')}`,
)}

${groups.map(({ title, names }) => `- ${title}: ${names.map((name) => `[${name}](#toolcrib-${name})`).join(', ')}`).join('\n')}

${sections.join('\n\n')}
`
}

function namesIn(rows: string): string[] {
  return [...rows.matchAll(/^ {2}([a-z][a-z-]*)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
}

/** Examples, what is said of their names, and exit codes are for somebody at a terminal. */
function withoutExamples(all: readonly string[]): readonly string[] {
  const lines = all.filter((line) => !/^Exit codes:| are (?:examples;|servers of the demo)/.test(line))
  const from = lines.indexOf('Examples:')
  if (from < 0) return lines
  const length = lines.slice(from + 1).findIndex((line) => !line.startsWith('  '))
  return lines.filter((_, index) => index < from || (length >= 0 && index > from + length))
}

/** Columns differ from command to command. */
function key(line: string): string {
  return line.trim().replace(/\s+/g, ' ')
}

function aligned(line: string): string {
  const [, flag = '', text = ''] = /^ *(-.*?) {2,}(.*)$/.exec(line) ?? []
  return `${flag.replace('-h, ', '').padEnd(17)}  ${text}`
}

function flagIn(line: string): string | undefined {
  return /^ *(?:-\w, )?(--[\w-]+)[^.]* {2,}|^(?:-\w, )?(--[\w-]+) /.exec(line)?.slice(1).find(Boolean)
}

function block(text: string): string {
  return `\`\`\`text\n${wrap(text.trim(), WIDTH)}\n\`\`\``
}

async function helpOf(command: readonly string[]): Promise<string> {
  const { terminal, stdout, stderr } = fakeTerminal()
  Object.assign(terminal.output, { isTTY: true, columns: 10_000 })
  const status = await runCommandLine([...command, '--help'], terminal)
  if (status !== 0) throw new Error(`${command.join(' ')} --help failed: ${stderr()}`)
  return stdout()
}

import { runCommandLine } from '../../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'

/** The help of every command, as the command line prints it. */
export async function writeCommands(): Promise<string> {
  const help = await helpOf([])
  const [, listed = ''] = /Set up:\n([\s\S]*?)\nWithout a command/.exec(help) ?? []
  const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
  const sections: string[] = []
  for (const name of names)
    sections.push(`## toolcrib ${name}\n\n\`\`\`text\n${(await helpOf([name])).trim()}\n\`\`\``)
  return `<!-- Written by \`npm run docs -- reference\` from the help of the commands. -->

# Commands

What \`toolcrib <command> --help\` prints. [The command line](../command-line.md) explains common flags, exit codes and what commands do
together.

\`\`\`text
${help.trim()}
\`\`\`

${sections.join('\n\n')}
`
}

async function helpOf(command: readonly string[]): Promise<string> {
  const { terminal, stdout, stderr } = fakeTerminal()
  const status = await runCommandLine([...command, '--help'], terminal)
  if (status !== 0) throw new Error(`${command.join(' ')} --help failed: ${stderr()}`)
  return stdout()
}

import { Argument, type Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Shell } from './run-completion.ts'

/** `toolcrib completion`: prints what completes commands and flags in a shell. */
export function completionCommand(terminal: Terminal): Command {
  const command: Command = defineCommand(terminal, 'completion', HELP, async () => {
    const { runCompletion } = await import('./run-completion.ts')
    return (_: Terminal, shell: Shell) => runCompletion(terminal, shell, command.parent?.commands ?? [])
  })
  return command
    .description('Print a script that completes commands and flags in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
}

const HELP = `
It completes the commands and their flags, and the names of files.

Examples:
  toolcrib completion bash >> ~/.bashrc
  toolcrib completion zsh >> ~/.zshrc
  toolcrib completion fish > ~/.config/fish/completions/toolcrib.fish
Exit codes: 0 done, 2 wrong usage.`

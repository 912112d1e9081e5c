import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

/** Prints a script for a shell, which completes these commands. */
export async function runCompletion(
  terminal: Terminal,
  shell: Shell,
  described: readonly Command[],
): Promise<number> {
  const commands = described.map((command) => ({
    name: command.name(),
    about: command.description().replace(/[^\w ,.:;()/-]/g, ''),
    flags: command.options.flatMap(({ long }) => long ?? []),
  }))
  terminal.print(SCRIPTS[shell](commands))
  return 0
}

interface Completed {
  readonly name: string
  /** Without characters that a shell treats specially. */
  readonly about: string
  readonly flags: readonly string[]
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = {
  bash: (commands) => `# Completes toolcrib in bash.
_toolcrib() {
  local word=\${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" -eq 1 ]; then words='${namesOf(commands)}'
  else case \${COMP_WORDS[1]} in
${flagCases(commands)}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _toolcrib toolcrib`,

  zsh: (commands) => `# Completes toolcrib in zsh.
_toolcrib() {
  local words_of
  if (( CURRENT == 2 )); then words_of='${namesOf(commands)}'
  else case \${words[2]} in
${flagCases(commands, 'words_of')}
  esac; fi
  compadd -- \${=words_of}
  _files
}
compdef _toolcrib toolcrib`,

  fish: (commands) =>
    [
      '# Completes toolcrib in fish.',
      ...commands.flatMap(({ name, about, flags }) => [
        `complete -c toolcrib -n __fish_use_subcommand -a ${name} -d '${about}'`,
        ...flags.map(
          (flag) =>
            `complete -c toolcrib -n '__fish_seen_subcommand_from ${name}' -l ${flag.replace(/^--/, '')}`,
        ),
      ]),
    ].join('\n'),
}

function namesOf(commands: readonly Completed[]): string {
  return commands.map(({ name }) => name).join(' ')
}

function flagCases(commands: readonly Completed[], variable = 'words'): string {
  return commands.map(({ name, flags }) => `    ${name}) ${variable}='${flags.join(' ')}' ;;`).join('\n')
}

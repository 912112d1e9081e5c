import { Command } from 'commander'
import pc from 'picocolors'
import { version } from '../package.json'
import { addCommand } from './add/command.ts'
import { approveCommand } from './approve/command.ts'
import { approveCallCommand } from './approve-call/command.ts'
import { auditCommand } from './audit/command.ts'
import { autostartCommand } from './autostart/command.ts'
import { callCommand } from './call/command.ts'
import { chatCommand } from './chat/command.ts'
import { completionCommand } from './completion/command.ts'
import { disableCommand, enableCommand, removeCommand } from './config/edit-command.ts'
import { connectCommand } from './connect/command.ts'
import { diffCommand } from './diff/command.ts'
import { disconnectCommand } from './disconnect/command.ts'
import { doctorCommand } from './doctor/command.ts'
import { evalCommand } from './eval/command.ts'
import { grantsCommand } from './grants/command.ts'
import { importCommand } from './import/command.ts'
import { listCommand } from './list/command.ts'
import { lockCommand } from './lock/command.ts'
import { logsCommand } from './logs/command.ts'
import { memoryCommand } from './memory/command.ts'
import { restartCommand } from './restart/command.ts'
import { scriptCommand } from './script/command.ts'
import { searchCommand } from './search/command.ts'
import { serveCommand } from './serve/command.ts'
import { setupCommand } from './setup/command.ts'
import { statsCommand } from './stats/command.ts'
import { statusCommand } from './status/command.ts'
import { stopCommand } from './stop/command.ts'
import { reportFailure } from './terminal/report-failure.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'
import { tourCommand } from './tour/command.ts'
import { uninstallCommand } from './uninstall/command.ts'
import { unlockCommand } from './unlock/command.ts'

// One import for everything that a process needs.
export { processTerminal }

/**
 * By name, under the headings of `--help` and in its order. Each describes its flags here, and loads the rest when it runs.
 */
const GROUPS = {
  'Set up:': {
    setup: setupCommand,
    connect: connectCommand,
    disconnect: disconnectCommand,
    import: importCommand,
    tour: tourCommand,
    uninstall: uninstallCommand,
  },
  'Servers:': {
    add: addCommand,
    remove: removeCommand,
    enable: enableCommand,
    disable: disableCommand,
    doctor: doctorCommand,
  },
  'Gateway:': {
    serve: serveCommand,
    autostart: autostartCommand,
    status: statusCommand,
    logs: logsCommand,
    restart: restartCommand,
    stop: stopCommand,
  },
  'Tools:': {
    list: listCommand,
    search: searchCommand,
    call: callCommand,
    chat: chatCommand,
    script: scriptCommand,
    stats: statsCommand,
    memory: memoryCommand,
    eval: evalCommand,
  },
  'Approvals:': {
    lock: lockCommand,
    diff: diffCommand,
    approve: approveCommand,
    unlock: unlockCommand,
    'approve-call': approveCallCommand,
    grants: grantsCommand,
    audit: auditCommand,
  },
  'Shell:': { completion: completionCommand },
} as const satisfies Record<string, Readonly<Record<string, (terminal: Terminal) => Command>>>

const COMMANDS: Readonly<Record<string, (terminal: Terminal) => Command>> = Object.assign(
  {},
  ...Object.values(GROUPS),
)

/** Runs one command line, such as `['list', '--json']`, and returns its exit code. Rethrows bugs. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const words = isSetup(args) ? ['setup', ...args] : isUnknownTopic(args) ? args.slice(1) : args
  const program = describeProgram(terminal, words)
  try {
    await program.parseAsync(words, { from: 'user' })
    return terminal.exitCode
  } catch (error) {
    const command = args.find(isCommand)
    return reportFailure(error, terminal, { isJson: asksForJson(args), command })
  }
}

/** Without a command, the user is new here. */
function isSetup(args: readonly string[]): boolean {
  return args.every((word) => word === '--yes')
}

/** For `help nope`, commander prints the whole help; for `nope`, an error that suggests a command. */
function isUnknownTopic([first, topic]: readonly string[]): boolean {
  return (
    first === 'help' && topic !== undefined && /^[^-]/.test(topic) && topic !== 'help' && !isCommand(topic)
  )
}

function isCommand(word: string): boolean {
  return Object.hasOwn(COMMANDS, word)
}

/**
 * Describes only the command that the words begin with, if there is one: describing all takes longer than many
 * commands. A completion is of all.
 */
export function describeProgram(terminal: Terminal, [first = '']: readonly string[]): Command {
  const program = new Command(terminal.program.name)
    .description(
      'A tool registry for AI agents: every tool in one place, a few shown to the model, the rest found by search.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .addHelpCommand(
      new Command('help').argument('[command]').description('show the help of a command').helpGroup('Shell:'),
    )
    // As in the help of the command itself.
    .configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` })
    .exitOverride()
    .showHelpAfterError('see "toolcrib --help"')
    .configureOutput({
      writeOut: (text) => terminal.output.write(terminal.hinted(text)),
      writeErr: (text) => terminal.errors.write(terminal.hinted(text)),
      // As in all other errors.
      outputError: (text, write) => write(text.replace(/^error: /, `${pc.red('error')} `)),
      getOutHelpWidth: () => (terminal.output.isTTY ? terminal.width : 80),
      getErrHelpWidth: () => terminal.errors.columns || 80,
    })
    .addHelpText('after', () => terminal.help(HELP))
  const described = Object.entries(GROUPS).flatMap(([heading, commands]) =>
    Object.entries<(terminal: Terminal) => Command>(commands).map(([name, describe]) => ({
      heading,
      name,
      describe,
    })),
  )
  const isEvery = !isCommand(first) || first === 'completion'
  for (const { heading, describe } of described.filter(({ name }) => isEvery || name === first)) {
    const command = describe(terminal).helpGroup(heading)
    command.hook('preAction', () => {
      terminal.config = command.opts().config
      terminal.lockfile = command.opts().lockfile
    })
    command.copyInheritedSettings(program).showHelpAfterError(`see "toolcrib ${command.name()} --help"`)
    program.addCommand(command)
  }
  return program
}

const HELP = `
Without a command, toolcrib sets itself up; see "toolcrib setup --help".
Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 130 cancelled.`

/** Looks only at the words, because a command line that cannot be parsed has no flags. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
}

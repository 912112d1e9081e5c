#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { approveCommand } from './approve/command.ts'
import { callCommand } from './call/command.ts'
import { chatCommand } from './chat/command.ts'
import { diffCommand } from './diff/command.ts'
import { doctorCommand } from './doctor/command.ts'
import { evalCommand } from './eval/command.ts'
import { importCommand } from './import/command.ts'
import { listCommand } from './list/command.ts'
import { lockCommand } from './lock/command.ts'
import { reportFailure } from './report-failure.ts'
import { searchCommand } from './search/command.ts'
import { statsCommand } from './stats/command.ts'
import { tourCommand } from './tour/command.ts'

// Commands are described here and loaded when they run: `--help` need not wait for what it does not use.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

const program = new Command('toolcrib')
  .description(
    'A tool registry for AI agents: every tool in one place, a few on the surface, the rest a search away.',
  )
  .version(version)
  .addCommand(tourCommand())
  .addCommand(importCommand())
  .addCommand(doctorCommand())
  .addCommand(listCommand())
  .addCommand(searchCommand())
  .addCommand(callCommand())
  .addCommand(statsCommand())
  .addCommand(chatCommand())
  .addCommand(lockCommand())
  .addCommand(diffCommand())
  .addCommand(approveCommand())
  .addCommand(evalCommand())
  .addHelpText(
    'after',
    '\nStart with: toolcrib tour, then toolcrib doctor\nExit codes: 0 done, 1 failed, 2 wrong usage or bad input, 130 cancelled.',
  )

program.exitOverride().showHelpAfterError('see "toolcrib --help"')
for (const command of program.commands)
  command.exitOverride().showHelpAfterError(`see "toolcrib ${command.name()} --help"`)

// Who reads may have seen enough (`| head`): the command still ends its servers, and says nothing more.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program.parseAsync()
} catch (error) {
  const given = process.argv.slice(2)
  const names = new Set(program.commands.map((each) => each.name()))
  const command = given.find((word) => names.has(word))
  process.exitCode = await reportFailure(error, { isJson: asksForJson(given), command })
}

/** Told by the words alone: a command line that makes no sense has no flags yet. */
function asksForJson(given: readonly string[]): boolean {
  const end = given.indexOf('--')
  return (end === -1 ? given : given.slice(0, end)).includes('--json')
}

#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { approveCommand } from './approve.ts'
import { callCommand } from './call.ts'
import { chatCommand } from './chat.ts'
import { diffCommand } from './diff.ts'
import { doctorCommand } from './doctor.ts'
import { evalCommand } from './eval.ts'
import { importCommand } from './import.ts'
import { listCommand } from './list.ts'
import { lockCommand } from './lock.ts'
import { searchCommand } from './search.ts'
import { statsCommand } from './stats.ts'
import { tourCommand } from './tour.ts'

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
    '\nStart with: toolcrib tour, then toolcrib doctor\nExit codes: 0 done, 1 failed, 2 wrong usage or bad input.',
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
  // What the user can mend gets one line; anything else is a bug and keeps its stack.
  if (!(error instanceof ToolcribError) && !(error instanceof CommanderError)) throw error
  if (error instanceof ToolcribError)
    console.error(`${pc.red('error')} ${error.message} ${pc.dim(`(${error.code})`)}`)
  process.exitCode = error instanceof CommanderError && error.exitCode === 0 ? 0 : 2
}

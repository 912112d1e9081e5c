#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { evalCommand } from './eval.ts'
import { tourCommand } from './tour.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

const program = new Command('toolcrib')
  .description(
    'A tool registry for AI agents: every tool in one place, a few on the surface, the rest a search away.',
  )
  .version(version)
  .addCommand(tourCommand())
  .addCommand(evalCommand())
  .showHelpAfterError()
  .addHelpText(
    'after',
    '\nStart with: toolcrib tour\nExit codes: 0 done, 1 failed, 2 wrong usage or bad input.',
  )

try {
  await program.parseAsync()
} catch (error) {
  // What the user can mend gets one line; anything else is a bug and keeps its stack.
  if (!(error instanceof ToolcribError)) throw error
  console.error(`${pc.red('error')} ${error.message} ${pc.dim(`(${error.code})`)}`)
  process.exitCode = 2
}

#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { processTerminal } from './terminal.ts'

let isWritten = true
// Neither a reader that closes the pipe early (`| head`) nor a full disk must crash the command: it still stops its servers.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isWritten && error.code !== 'EPIPE')
    process.stderr.write(`error stdout cannot be written: ${error.message}\n`)
  isWritten = error.code === 'EPIPE' && isWritten
  // The error may come after the command has ended.
  if (!isWritten) process.exitCode = 1
})
process.stderr.on('error', () => {})

const exitCode = await runCommandLine(process.argv.slice(2), processTerminal())
process.exitCode = isWritten ? exitCode : 1

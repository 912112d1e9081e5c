#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { processTerminal } from './terminal.ts'

// A reader that closes the pipe early (`| head`) must not crash the command: it still stops its servers.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal())

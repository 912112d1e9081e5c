#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { processTerminal } from './terminal.ts'

// A reader that has seen enough (`| head`) closes the pipe: the command still ends its servers, and prints no more.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal())

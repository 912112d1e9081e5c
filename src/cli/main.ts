#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'

keepCompiledCode()
// Loaded only now: code that is loaded earlier is not kept.
const { processTerminal, runCommandLine } = await import('./command-line.ts')

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

/**
 * Has Node.js keep compiled code from run to run, where it can (from 22.1 on), since compiling takes longer than most commands.
 * In the user's own folder: whoever can write to a shared one could have their code run here.
 */
function keepCompiledCode(): void {
  const enable: unknown = Reflect.get(module, 'enableCompileCache')
  const folder = cacheFolder(process.env)
  if (folder !== undefined && typeof enable === 'function') enable(join(folder, 'compiled'))
}

/** As `cacheDirectory()` of the config, which is not loaded yet. */
function cacheFolder({ XDG_CACHE_HOME, LOCALAPPDATA, HOME }: NodeJS.ProcessEnv): string | undefined {
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'toolcrib')
  if (LOCALAPPDATA) return join(LOCALAPPDATA, 'toolcrib', 'cache')
  return HOME ? join(HOME, '.cache', 'toolcrib') : undefined
}

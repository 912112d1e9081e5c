#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'

keepCompiledCode()
// Imported here, because code that is loaded earlier is not cached.
const { processTerminal, runCommandLine } = await import('./command-line.ts')

let isWritten = true
// A reader that closes the pipe early (`| head`), or a full disk, must not crash the command: it still stops its
// servers.
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
 * Lets Node.js (from 22.1 on) cache compiled code between runs, since compiling takes longer than most commands. The
 * cache is in the user's own folder: others could put code into a shared one.
 */
function keepCompiledCode(): void {
  const enable: unknown = Reflect.get(module, 'enableCompileCache')
  const folder = cacheFolder(process.env)
  if (folder !== undefined && typeof enable === 'function') enable(join(folder, 'compiled'))
}

/** The same as `cacheDirectory()` of the config, which is not loaded yet. */
function cacheFolder({ XDG_CACHE_HOME, LOCALAPPDATA, HOME }: NodeJS.ProcessEnv): string | undefined {
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'toolcrib')
  if (LOCALAPPDATA) return join(LOCALAPPDATA, 'toolcrib', 'cache')
  return HOME ? join(HOME, '.cache', 'toolcrib') : undefined
}

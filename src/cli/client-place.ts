import { homedir } from 'node:os'
import type { ClientPlace } from 'toolcrib/clients'
import type { Terminal } from './terminal.ts'

/** Whose clients a command looks for. */
export function clientPlace({ env, cwd }: Terminal): ClientPlace {
  return { home: env.HOME || homedir(), platform: process.platform, env, cwd }
}

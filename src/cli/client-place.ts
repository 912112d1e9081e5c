import { homedir } from 'node:os'
import type { ClientPlace, GatewayDoor } from 'toolcrib/clients'
import type { Terminal } from './terminal.ts'

/** Whose clients a command looks for. */
export function clientPlace({ env, cwd }: Terminal): ClientPlace {
  return { home: env.HOME || homedir(), platform: process.platform, env, cwd }
}

/** The door for clients that start their servers: a process that joins the gateway of this config. */
export function stdioDoor(
  { program: { command, args } }: Pick<Terminal, 'program'>,
  config: string,
  profile: string | undefined,
): GatewayDoor {
  const narrowed = profile === undefined ? [] : ['--profile', profile]
  return { kind: 'stdio', command, args: [...args, 'serve', '--stdio', '--config', config, ...narrowed] }
}

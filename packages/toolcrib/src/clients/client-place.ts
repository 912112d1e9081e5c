import { homedir } from 'node:os'
import type { ClientPlace, GatewayDoor } from '@toolcrib/mcp/clients'
import type { Terminal } from '../terminal/terminal.ts'

/** Whose clients a command looks for. */
export function clientPlace({ env, cwd }: Terminal): ClientPlace {
  return { home: env.HOME || homedir(), platform: process.platform, env, cwd }
}

/** For clients that start their servers: a process that joins the gateway of this config. */
export function stdioGateway(
  { program: { command, args } }: Pick<Terminal, 'program'>,
  config: string,
  profile?: string | undefined,
): GatewayDoor {
  const narrowed = profile === undefined ? [] : ['--profile', profile]
  return { kind: 'stdio', command, args: [...args, 'serve', '--stdio', '--config', config, ...narrowed] }
}

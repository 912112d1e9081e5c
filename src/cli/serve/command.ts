import { Command, InvalidArgumentError, Option } from 'commander'
import { withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { ServeFlags } from './run-serve.ts'

/** `toolcrib serve`: the gateway, over HTTP or stdio. */
export function serveCommand(terminal: Terminal): Command {
  return withServerFlags(new Command('serve'))
    .description('Serve all configured servers at one MCP endpoint, over HTTP or stdio.')
    .option('--stdio', 'serve the client that started this process, over stdin and stdout')
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 takes a free one', toPort, 7117)
    .option('--token <token>', 'the token that clients must send')
    .option('--token-file <file>', 'read the token from this file; a missing file is created')
    .option('--no-token', 'require no token; only on loopback addresses')
    .addOption(
      new Option(
        '--mode <mode>',
        'full: list every tool; lazy: list a search tool; auto: depends on their number',
      ).choices(['full', 'lazy', 'auto']),
    )
    .addOption(
      new Option('--names <names>', 'prefixed: server__tool; plain: without the server, if unique').choices([
        'prefixed',
        'plain',
      ]),
    )
    .option('--profile <name>', 'show clients what this profile of the config allows')
    .option('--store <store>', 'where state is kept: file:DIR or redis://HOST (default: in the state folder)')
    .option(
      '--linger <seconds>',
      'serve for this long after SIGTERM, while /readyz says "stopping" (default: 3 with redis://, otherwise 0)',
      toSeconds,
    )
    .option('--locked', 'fail when a server has no lockfile')
    .option('--open', 'open the page in a browser')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: ServeFlags) => {
      const { runServe } = await import('./run-serve.ts')
      terminal.exitCode = await runServe(terminal, flags)
    })
}

function toPort(value: string): number {
  const port = Number(value)
  if (/^\d+$/.test(value) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

function toSeconds(value: string): number {
  const seconds = Number(value)
  if (/^\d+(\.\d+)?$/.test(value) && seconds <= 300) return seconds
  throw new InvalidArgumentError('It must be a number from 0 to 300.')
}

const HELP = `
Clients connect to http://HOST:PORT/mcp, or /mcp/PROFILE, and send the token as "Authorization: Bearer TOKEN".
Without --token or --token-file, the gateway uses the token that "toolcrib connect --http" has saved in your config folder, or else \
a random one, which is shown once. Other users of this machine can see a token on the command line; --token-file keeps it private, \
and the same after a restart.
/healthz and /readyz need no token; /metrics does.

In the config, [gateway.token.NAME] gives another client its own token and profile. With [gateway.oauth], clients send tokens of an \
OAuth issuer instead, and their scopes select the profiles. [gateway.limits] limits what each client may use. A changed config is \
read again at once, and on SIGHUP: servers start and stop, and tokens, profiles and limits change. [tools] needs a restart.

With --stdio, a running gateway of the same config and user is used, so that several clients share its servers. Otherwise the servers \
run in this process.
With --json, one line is printed once the gateway listens: { url, token, page, pid, version }.
With --store redis://HOST (rediss:// for TLS, ?prefix=NAME: to keep gateways apart), any number of gateways serve the same clients: \
give them the same config and --token-file. TOOLCRIB_STORE sets the store without showing it in the list of processes.

SIGTERM and Ctrl-C let calls in flight finish, then stop every server. After SIGTERM, a gateway on Redis first keeps serving for a few \
seconds (--linger) while /readyz says "stopping", so that a proxy in front sends clients to another gateway.

Examples:
  toolcrib serve                                 on port 7117
  toolcrib serve --token-file ~/.toolcrib-token  the same token each time
  toolcrib serve --stdio                         for a client that starts it
  toolcrib serve --port 0 --json | jq -r .url
Exit codes: 0 stopped, 1 the port is in use, 2 wrong usage or no config.`

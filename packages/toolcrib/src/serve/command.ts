import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib serve`: the gateway, over HTTP or stdio. */
export function serveCommand(terminal: Terminal): Command {
  return withServerFlags(
    defineCommand(terminal, 'serve', HELP, async () => (await import('./run-serve.ts')).runServe),
  )
    .description('Serve all configured servers at one MCP endpoint, over HTTP or stdio.')
    .option('--stdio', 'serve the client that started this process, over stdin and stdout')
    .option('--background', 'start it in the background: it goes on when this terminal is closed')
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 takes a free one', toPort, 7117)
    .option('--token <token>', 'the token that clients must send')
    .option('--token-file <file>', 'read the token from this file; a missing file is created')
    .option('--operator-token-file <file>', 'read the token of the page and /metrics from this file instead')
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
    .option('--idle <seconds>', 'end once no client has been connected for this long', toSeconds)
    .option('--locked', 'fail when a server has no lockfile')
    .option('--strict', 'wait for the servers, and fail when a deny rule matches no tool')
    .option('--open', 'open the page in a browser')
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
Without --token or --token-file, the gateway uses the token in your config folder, which only you can read, and creates it if there \
is none, so that it stays the same after a restart. Other users of this machine can see a token on the command line.
The page, its API and /metrics need another token, the operator's: it is in the address of the page, and lasts in your config folder. \
/healthz and /readyz need none.

In the config, [gateway.token.NAME] gives another client its own token and profile. With [gateway.oauth], clients send tokens of an \
OAuth issuer instead, and their scopes select the profiles. [gateway.limits] limits what each client may use. A changed config is \
read again at once, and on SIGHUP: servers start and stop, and tokens, profiles and limits change. [tools] needs a restart.

With --stdio, clients of the same config and user share one gateway, its servers and its page: the first starts it in the \
background, and it ends when the last is gone. With --mode, --names, --store, --lockfile or --timeout, a client has servers of its own.
With --json, one line is printed once the gateway listens: { url, token, page, pid, version }.
With --background, that line also has the path of its log, and nothing is started if a gateway of the config listens already. "toolcrib \
stop" ends it; "toolcrib autostart on" starts one each time you log in.
With --store redis://HOST (rediss:// for TLS, ?prefix=NAME: to keep gateways apart), any number of gateways serve the same clients: \
give them the same config and --token-file. TOOLCRIB_STORE sets the store without showing it in the list of processes.

SIGTERM and Ctrl-C let calls in flight finish, then stop every server. After SIGTERM, a gateway on Redis first keeps serving for a few \
seconds (--linger) while /readyz says "stopping", so that a proxy in front sends clients to another gateway.

Examples:
  toolcrib serve                                 on port 7117
  toolcrib serve --token-file ~/.toolcrib-token  the same token each time
  toolcrib serve --background                    and close the terminal
  toolcrib serve --stdio                         for a client that starts it
  toolcrib serve --port 0 --json | jq -r .url
Exit codes: 0 stopped, 1 the port is in use, 2 wrong usage or no config.`

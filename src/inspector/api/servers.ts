import type { ConnectedServers, ServerConfig } from 'toolcrib/mcp'
import { invalid, reading, text, writing } from './route.ts'
import { consentOf } from './sign-in.ts'

/** Every server with how it is doing. */
export const servers = reading({}, async (inspection) => {
  const { servers: connected, config, book, serverLog } = inspection
  const rows = await book.rows()
  const found = (await config?.found())?.config
  const configured = found?.servers ?? {}
  const disabled = (await config?.disabled()) ?? []
  const running = connected.status().map((status) => {
    const own = rows.filter(({ kind, source }) => kind === 'mcp' && source === status.server)
    const { lines, ...course } = serverLog.of(status.server)
    const info = connected.info(status.server)
    const needsSignIn = status.state === 'failed' && SIGN_IN_FAILED.test(status.reason)
    const canSignIn = inspection.signIns !== undefined && configured[status.server]?.url !== undefined
    return {
      ...status,
      ...course,
      lastLine: lines.at(-1)?.text ?? null,
      tools: own.length,
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      runs: commandOf(configured[status.server]),
      about: aboutOf(info),
      step: status.state === 'failed' ? stepFor(status.reason, status.server) : null,
      /** Whether a person can sign in to it here, and should. */
      needsSignIn: needsSignIn && canSignIn && config !== undefined,
      consent: consentOf(inspection, status.server),
    }
  })
  return { servers: running, canChange: config !== undefined, disabled, files: found?.files ?? [] }
})

/** Reasons that end when a person signs in. */
const SIGN_IN_FAILED = /authorization failed|rejected the authorization|OAuth callback/

/** What happened to a server, line by line. */
export const serverLines = reading(
  { server: text },
  ({ serverLog }, { server }) => serverLog.of(server).lines,
)

/** Ends a server's process and starts it again, also one that would wait for its first call. */
export const restartServer = writing({ server: text }, async ({ config, servers: connected }, { server }) => {
  const status = () => connected.status().find((each) => each.server === server) ?? null
  await needed(config).restart(server)
  // What fails is in the status. One that is failed already was refused, or waits for somebody to sign in.
  if (status()?.state !== 'failed') await connected.client(server).catch(() => {})
  return status()
})

function needed<Value>(config: Value | undefined): Value {
  if (config !== undefined) return config
  throw invalid('this gateway was opened without a config file, so nothing can be changed here')
}

/** The program or address; arguments and headers may hold secrets, so they stay where they are. */
function commandOf(config: ServerConfig | undefined): string | null {
  if (!config) return null
  if (config.url !== undefined) return URL.canParse(config.url) ? new URL(config.url).origin : 'a URL'
  return config.command ?? null
}

function aboutOf(info: ReturnType<ConnectedServers['info']>) {
  if (!info) return null
  const { serverInfo, protocolVersion, era } = info
  const { name, version } = serverInfo ?? {}
  return {
    name: typeof name === 'string' ? name : null,
    version: typeof version === 'string' ? version : null,
    protocol: protocolVersion,
    era,
  }
}

/** The step that most likely mends a failure. */
function stepFor(reason: string, server: string): string {
  const steps: readonly (readonly [RegExp, string])[] = [
    [/ENOENT|not found|no such file/i, 'Install the program, or correct "command" in the config.'],
    [/variable|environment/i, 'Set the variable where the gateway is started, then restart the gateway.'],
    [/401|403|auth|sign in|token/i, 'Sign in to it, or set its Authorization header in the config.'],
    [/lock|approv|command changed/i, 'Safety shows what it would run.'],
    [
      /time(d)? ?out|did not respond|too long/i,
      'Raise connect_timeout_ms, or start the program by hand to see why it waits.',
    ],
    [
      /ECONNREFUSED|fetch failed|ENOTFOUND|unreachable/i,
      'Check that the address is right and the server is running.',
    ],
    [/exit|ended|crash|code \d/i, 'Read the last lines below: the program ended by itself.'],
  ]
  const known = steps.find(([pattern]) => pattern.test(reason))
  return known?.[1] ?? `Run "toolcrib doctor ${server}" for more.`
}

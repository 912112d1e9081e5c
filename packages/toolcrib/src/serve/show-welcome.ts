import { spawn } from 'node:child_process'
import { hostname as ownName } from 'node:os'
import { isAbsolute } from 'node:path'
import type { FoundConfig } from '@toolcrib/mcp'
import { type ConnectableClient, connectableClients } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { clientPlace, stdioGateway } from '../clients/client-place.ts'
import { isLoopback } from '../config/access-token.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural, width } from '../terminal/text.ts'
import { clientSnippets } from './client-snippets.ts'
import type { GatewayAccess } from './gateway-access.ts'
import { reachableHosts } from './serve-settings.ts'

export interface Welcome {
  readonly url: string
  /** The address of the page, with the token. */
  readonly page: string
  readonly version: string
  readonly access: Pick<GatewayAccess, 'token' | 'operator' | 'issuer' | 'profile'>
  readonly found: FoundConfig
  /** Whether `status`, `logs` and `stop` reach this gateway. */
  readonly isControlled: boolean
}

/** Prints the address of the gateway, and what to put into a client's config. */
export async function showWelcome(
  terminal: Terminal,
  { url, page, version, access: { token, operator, issuer, profile }, found, isControlled }: Welcome,
): Promise<void> {
  const { servers, files } = found.config
  // Output that is not a terminal is a log, which others may read.
  const isHidden = token?.file !== undefined && !terminal.isInteractive
  const isPageHidden = operator?.file !== undefined && !terminal.isInteractive
  const count = plural(Object.keys(servers).length, 'server')
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} serves ${count} of ${files.join(', ')}`)
  terminal.print()
  printPlace(terminal, 'URL', pc.cyan(url))
  printPlace(terminal, 'Page', pc.cyan(isPageHidden ? page.replace(/#.*$/, '') : page))
  if (issuer !== undefined) printPlace(terminal, 'Token', pc.dim(`of ${issuer}`))
  else if (token === undefined)
    printPlace(terminal, 'Token', pc.dim('none: any program on this machine may connect'))
  else printPlace(terminal, 'Token', isHidden ? pc.dim(`in ${token.file}`) : token.token)
  terminal.print()
  const transports = {
    http: { kind: 'http', url, token: isHidden ? 'TOKEN' : token?.token },
    stdio: stdioGateway(terminal, files.at(-1) ?? '', profile),
  } as const
  const place = clientPlace(terminal)
  const there = (await connectableClients(place)).filter(({ isThere }) => isThere)
  const own = new OwnAddresses({ url, page, found })
  const withUse = (use: Use) => there.filter((client) => client.isConnected && own.useOf(client) === use)
  const [connected, elsewhere, unclear] = [withUse('this'), withUse('another'), withUse('unknown')]
  const open = there.filter(({ isConnected }) => !isConnected).map(({ client }) => client)
  if (connected.length > 0) terminal.say(`Connected already: ${titlesOf(connected)}.\n`)
  if (elsewhere.length > 0) terminal.say(`Connected to another gateway: ${titlesOf(elsewhere)}.\n`)
  if (unclear.length > 0) terminal.say(`Connected to a gateway, perhaps this one: ${titlesOf(unclear)}.\n`)
  const isOpen = (client: string) => open.includes(client)
  const isDone = open.length === 0 && there.some(({ isConnected }) => isConnected)
  const snippets = isDone ? [] : clientSnippets(transports, place, isOpen)
  for (const { titles, text } of snippets) {
    terminal.say(`For ${titles.join(', ')}:`)
    terminal.print()
    // Lines may be longer than the terminal: copied text must not be broken.
    for (const line of text.split('\n')) terminal.print(`  ${line}`)
    terminal.print()
  }
  if (token?.file !== undefined)
    terminal.say(pc.dim(`The token is in ${token.file}${isHidden ? '; put it in place of TOKEN' : ''}.`))
  else if (token?.isNew)
    terminal.say(pc.dim('The token is shown once. --token-file FILE keeps one over restarts.'))
  if (token !== undefined && profile !== undefined)
    terminal.say(pc.dim(`The token opens the profile ${profile} alone.`))
  if (operator !== undefined)
    terminal.say(
      pc.dim(
        `The token is for clients. The address of the page ${isPageHidden ? "needs the operator's token" : "has the operator's token"}, which opens the page and /metrics: keep it to yourself.${operator.file === undefined ? '' : ` It is in ${operator.file}.`}`,
      ),
    )
  if (snippets.length > 0)
    terminal.say(pc.dim('"toolcrib connect <client>" writes such an entry into the config of a client.'))
  else if (elsewhere.length + unclear.length > 0)
    terminal.say(pc.dim('"toolcrib connect <client>" lets a client use this one instead.'))
  terminal.say(pc.dim(`Ctrl-C stops it.${isControlled ? ' In another terminal:' : ''}`))
  if (!isControlled) return
  for (const command of ['status', 'logs --follow', 'stop'])
    terminal.print(pc.dim(`  ${terminal.typed(`toolcrib ${command}`)}`))
}

/** Copied text must not be broken, so it gets a separate line if it does not fit beside its label. */
function printPlace(terminal: Terminal, label: string, place: string): void {
  const line = `  ${label.padEnd('Token'.length)}  ${place}`
  if (width(line) <= terminal.width) terminal.print(line)
  else terminal.print(`  ${label}\n  ${place}`)
}

function titlesOf(clients: readonly ConnectableClient[]): string {
  return clients.map(({ title }) => title).join(', ')
}

/** Which gateway a client uses, according to its config. */
type Use = 'this' | 'another' | 'unknown'

/** Where clients reach this gateway: its origins, the resource of its OAuth config, and its config files. */
class OwnAddresses {
  readonly #files: readonly string[]
  readonly #resource: string | undefined
  readonly #port: string
  readonly #hosts: ReadonlySet<string>

  constructor({ url, page, found: { config } }: Pick<Welcome, 'url' | 'page' | 'found'>) {
    const [shown, here] = [new URL(url), new URL(page)]
    this.#files = config.files
    this.#resource = config.gateway?.oauth && withoutProfile(config.gateway.oauth.resource)
    this.#port = shown.port
    // The page has another host if the gateway listens on every address.
    const others = shown.host === here.host ? [] : (reachableHosts('0.0.0.0') ?? [])
    const hosts = [shown.hostname, here.hostname, ownName(), ...others]
    this.#hosts = new Set(hosts.map(hostKey))
  }

  useOf({ gateway }: ConnectableClient): Use {
    if (gateway === undefined) return 'unknown'
    if (this.#files.includes(gateway) || withoutProfile(gateway) === this.#resource) return 'this'
    if (isAbsolute(gateway)) return 'another'
    if (!URL.canParse(gateway)) return 'unknown'
    const { protocol, hostname, port } = new URL(gateway)
    const host = hostKey(hostname)
    if (protocol !== 'http:') return 'unknown'
    if (this.#hosts.has(host)) return port === this.#port ? 'this' : 'another'
    // Any other host may be a proxy of this gateway.
    return host === LOOPBACK ? 'another' : 'unknown'
  }
}

const LOOPBACK = 'loopback'

/** One key for all names of this machine's own address. */
function hostKey(host: string): string {
  return isLoopback(host) ? LOOPBACK : host.toLowerCase()
}

/** `https://host/mcp` for `https://host/mcp/work`: one gateway serves all its profiles. */
function withoutProfile(url: string): string {
  return url.replace(/\/mcp\/[\w.-]+$/, '/mcp')
}

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a page in the user's browser. Resolves with false if that is not possible. */
export function openPage(
  url: string,
  { BROWSER }: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const [command, ...args] = BROWSER ? [BROWSER] : (OPENERS[process.platform] ?? ['xdg-open'])
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

import { spawn } from 'node:child_process'
import pc from 'picocolors'
import { type ConnectableClient, connectableClients } from 'toolcrib/clients'
import type { FoundConfig } from 'toolcrib/mcp'
import { clientPlace } from '../client-place.ts'
import type { Terminal } from '../terminal.ts'
import { plural } from '../text.ts'
import { clientSnippets } from './client-snippets.ts'
import type { GatewayAccess } from './gateway-access.ts'

export interface Welcome {
  readonly url: string
  /** Where the page is, with the token. */
  readonly page: string
  readonly version: string
  readonly access: Pick<GatewayAccess, 'token' | 'issuer'>
  readonly found: FoundConfig
  /** Whether `status`, `logs` and `stop` reach this gateway. */
  readonly isControlled: boolean
}

/** Shows a person where the gateway is, and what to put into a client's config. */
export async function showWelcome(
  terminal: Terminal,
  { url, page, version, access: { token, issuer }, found, isControlled }: Welcome,
): Promise<void> {
  const { servers, files } = found.config
  // What is not a terminal is a log, which others may read.
  const isHidden = token?.file !== undefined && !terminal.isInteractive
  const count = plural(Object.keys(servers).length, 'server')
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} serves ${count} of ${files.join(', ')}`)
  terminal.print()
  terminal.print(`  URL    ${pc.cyan(url)}`)
  terminal.print(`  Page   ${pc.cyan(isHidden ? page.replace(/#.*$/, '') : page)}`)
  if (issuer !== undefined) terminal.print(`  Token  ${pc.dim(`of ${issuer}`)}`)
  else if (token === undefined)
    terminal.print(`  Token  ${pc.dim('none: any program on this machine may connect')}`)
  else terminal.print(`  Token  ${isHidden ? pc.dim(`in ${token.file}`) : token.token}`)
  terminal.print()
  const { command, args } = terminal.program
  const doors = {
    http: { kind: 'http', url, token: isHidden ? 'TOKEN' : token?.token },
    stdio: { kind: 'stdio', command, args: [...args, 'serve', '--stdio', '--config', files.at(-1) ?? ''] },
  } as const
  const place = clientPlace(terminal)
  const there = (await connectableClients(place)).filter(({ isThere }) => isThere)
  const connected = there.filter(({ gateway = '' }) => gateway === url || files.includes(gateway))
  const elsewhere = there.filter((client) => client.isConnected && !connected.includes(client))
  const open = there.filter(({ isConnected }) => !isConnected).map(({ client }) => client)
  if (connected.length > 0) terminal.say(`Connected already: ${titlesOf(connected)}.\n`)
  if (elsewhere.length > 0) terminal.say(`Connected to another gateway: ${titlesOf(elsewhere)}.\n`)
  const isOpen = (client: string) => open.includes(client)
  const isDone = connected.length + elsewhere.length > 0 && open.length === 0
  const snippets = isDone ? [] : clientSnippets(doors, place, isOpen)
  for (const { titles, text } of snippets) {
    terminal.say(`For ${titles.join(', ')}:`)
    terminal.print()
    // Lines may be longer than the terminal: what is copied must not be broken.
    for (const line of text.split('\n')) terminal.print(`  ${line}`)
    terminal.print()
  }
  if (token?.file !== undefined)
    terminal.say(pc.dim(`The token is in ${token.file}${isHidden ? '; put it in place of TOKEN' : ''}.`))
  else if (token?.isNew)
    terminal.say(pc.dim('The token is shown once. --token-file FILE keeps one over restarts.'))
  if (snippets.length > 0)
    terminal.say(pc.dim('"toolcrib connect" writes such an entry into the configs of your clients.'))
  else if (elsewhere.length > 0)
    terminal.say(pc.dim('"toolcrib connect <client>" lets a client use this one instead.'))
  terminal.say(pc.dim(`Ctrl-C stops it.${isControlled ? ' In another terminal:' : ''}`))
  if (!isControlled) return
  for (const command of ['status', 'logs --follow', 'stop'])
    terminal.print(pc.dim(`  ${terminal.typed(`toolcrib ${command}`)}`))
}

function titlesOf(clients: readonly ConnectableClient[]): string {
  return clients.map(({ title }) => title).join(', ')
}

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a page in the user's browser. Resolves with false when there is no way to. */
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

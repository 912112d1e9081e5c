import pc from 'picocolors'
import type { FoundConfig } from 'toolcrib/mcp'
import type { Terminal } from '../terminal.ts'
import { plural } from '../text.ts'
import type { AccessToken } from './access-token.ts'

export interface Welcome {
  readonly url: string
  readonly version: string
  readonly token: AccessToken | undefined
  readonly found: FoundConfig
  /** Whether `status`, `logs` and `stop` reach this gateway. */
  readonly isControlled: boolean
}

/** Shows a person where the gateway is, and what to put into a client's config. */
export function showWelcome(terminal: Terminal, { url, version, token, found, isControlled }: Welcome): void {
  const { servers, files } = found.config
  const count = plural(Object.keys(servers).length, 'server')
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} serves ${count} of ${files.join(', ')}`)
  terminal.print()
  terminal.print(`  URL    ${pc.cyan(url)}`)
  if (token === undefined)
    terminal.print(`  Token  ${pc.dim('none: any program on this machine may connect')}`)
  else terminal.print(`  Token  ${token.token}`)
  terminal.print()
  terminal.say('For a client that takes a URL (Claude Code, Cursor, VS Code, Gemini, …):')
  terminal.print()
  printSnippet(terminal, {
    type: 'http',
    url,
    ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token.token}` } }),
  })
  terminal.print()
  terminal.say('For a client that starts its servers (Claude Desktop, …), which joins this gateway:')
  terminal.print()
  printSnippet(terminal, { command: 'toolcrib', args: ['serve', '--stdio', '--config', files.at(-1)] })
  terminal.print()
  if (token?.isNew)
    terminal.say(pc.dim('The token is shown once. --token-file FILE keeps one over restarts.'))
  const commands = '"toolcrib status", "toolcrib logs --follow" and "toolcrib stop" reach it'
  terminal.say(pc.dim(`Ctrl-C stops it.${isControlled ? ` In another terminal, ${commands}.` : ''}`))
}

/** Lines may be longer than the terminal where a value is: what is copied must not be broken. */
function printSnippet(terminal: Terminal, entry: object): void {
  const lines = JSON.stringify({ mcpServers: { toolcrib: entry } }, null, 2).split('\n')
  for (const line of lines) terminal.print(`  ${line}`)
}

import { CLIENT_FORMATS, type ClientPlace, findClient, type GatewayDoor } from '@toolcrib/mcp/clients'
import { stringify } from 'smol-toml'

/** What to put into the config of some clients. */
export interface ClientSnippet {
  /** The clients it is for, such as `Claude Code, Cursor`. */
  readonly titles: readonly string[]
  readonly text: string
}

/** The clients whose snippets are shown if none is found. */
const USUAL = ['claude-code', 'claude-desktop']
const MAX_SNIPPETS = 3

/**
 * What to put into the configs of the clients on this machine, or of two common ones if there are none. A client that
 * takes no URL gets a command to start.
 */
export function clientSnippets(
  transports: { readonly http: GatewayDoor; readonly stdio: GatewayDoor },
  place: ClientPlace,
  isThere: (client: string) => boolean,
): ClientSnippet[] {
  const known = Object.keys(CLIENT_FORMATS)
  const found = known.filter(isThere)
  const byText = new Map<string, string[]>()
  for (const client of found.length > 0 ? found : USUAL) {
    const { file, format } = findClient(client, place)
    const entry = format.entry(transports.http) ?? format.entry(transports.stdio)
    const nested = [...format.servers, 'toolcrib'].reduceRight<object>(
      (inner, key) => ({ [key]: inner }),
      entry ?? {},
    )
    // JSON is valid YAML.
    const text = file.path.endsWith('.toml') ? stringify(nested).trim() : JSON.stringify(nested, null, 2)
    byText.set(text, [...(byText.get(text) ?? []), file.title])
  }
  return [...byText].slice(0, MAX_SNIPPETS).map(([text, titles]) => ({ titles, text }))
}

import { isIPv6 } from 'node:net'
import { ToolcribError } from '@toolcrib/core'

/** Tests whether a list contains a host name (lower case, without brackets and trailing dot) with a port. */
export type HostTest = (host: string, port: number) => boolean

/**
 * Parses a list of hosts: `example.com`, `*.example.com` for its subdomains, an address, each with an optional
 * `:port`, and `*` for all. An entry without a port allows every port.
 */
export function hostTest(entries: readonly string[]): HostTest {
  const tests = entries.map(entryTest)
  return (host, port) => tests.some((test) => test(host, port))
}

function entryTest(entry: string): HostTest {
  if (entry === '*') return () => true
  const isBelow = entry.startsWith('*.')
  const { host, port } = parseEntry(isBelow ? entry.slice(2) : entry, entry)
  return (asked, askedPort) => {
    if (port !== undefined && port !== askedPort) return false
    return isBelow ? asked.endsWith(`.${host}`) : asked === host
  }
}

function parseEntry(text: string, entry: string): { host: string; port: number | undefined } {
  const bare = isIPv6(text) ? `[${text}]` : text
  const url = URL.canParse(`http://${bare}`) ? new URL(`http://${bare}`) : undefined
  if (
    url === undefined ||
    url.pathname !== '/' ||
    url.search + url.hash + url.username !== '' ||
    /[*/]/.test(text)
  ) {
    throw new ToolcribError(
      'config-invalid',
      `"${entry}" is not a valid host; write example.com, *.example.com or example.com:8080`,
    )
  }
  // Taken from the text, since a URL omits its scheme's default port.
  const port = /:(\d+)$/.exec(bare.replace(/^.*\]/, ''))?.[1]
  return { host: hostOf(url), port: port === undefined ? undefined : Number(port) }
}

/** The host of a URL in the form used by lists and connections. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** The port of a URL, or its scheme's default port. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

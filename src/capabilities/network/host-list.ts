import { isIPv6 } from 'node:net'
import { ToolcribError } from '../../errors.ts'

/** Whether a host name (in lower case, without brackets and trailing dot) and a port are on a list. */
export type HostTest = (host: string, port: number) => boolean

/**
 * Reads a list of hosts: `example.com`, `*.example.com` for everything below it, an address, each with an optional
 * `:port`, and `*` for all. Without a port, every port is meant.
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
      `"${entry}" is not a host; write example.com, *.example.com or example.com:8080`,
    )
  }
  // Read from the text: a URL does not show its scheme's own port.
  const port = /:(\d+)$/.exec(bare.replace(/^.*\]/, ''))?.[1]
  return { host: hostOf(url), port: port === undefined ? undefined : Number(port) }
}

/** The host of a URL as lists and connections want it. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** The port of a URL, the scheme's own when none is named. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

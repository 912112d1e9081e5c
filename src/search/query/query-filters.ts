import type { Listing } from '../../tool.ts'
import type { Query } from './query.ts'

/** Whether a listing may be found. */
export type Accepts = (listing: Listing) => boolean

/** Adds the filters of a query to `accepts`; returns `accepts` itself if there are none. */
export function filtered(query: Query, accepts: Accepts, server?: string): Accepts {
  const filters: Accepts[] = []
  if (server !== undefined) filters.push(isOfServer([server]))
  if (query.servers.length > 0) filters.push(isOfServer(query.servers))
  for (const text of [...query.required, ...query.phrases]) filters.push(holds(text))
  for (const text of query.excluded) {
    const isHeld = holds(text)
    filters.push((listing) => !isHeld(listing))
  }
  if (filters.length === 0) return accepts
  // The caller's check runs last, since it may be expensive.
  return (listing) => filters.every((filter) => filter(listing)) && accepts(listing)
}

export function isOfServer(servers: readonly string[]): Accepts {
  const wanted = new Set(servers.map((server) => server.toLowerCase()))
  return ({ source }) => source.kind === 'mcp' && wanted.has(source.server.toLowerCase())
}

/** Whether name, description or hint contain a text, ignoring case; `pull request` matches `pull_request`. */
export function holds(text: string): Accepts {
  const source = text
    .normalize('NFC')
    .split(/[\s_.\-/]+/)
    .filter((part) => part !== '')
    .map(escaped)
    .join('[\\s_.\\-/]+')
  if (source === '') return () => false
  const pattern = new RegExp(source, 'iu')
  return ({ name, description, searchHint }) =>
    pattern.test(name.replace(/^mcp__/, '').normalize('NFC')) ||
    pattern.test(description.normalize('NFC')) ||
    (searchHint !== undefined && pattern.test(searchHint.normalize('NFC')))
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

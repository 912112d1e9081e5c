import { nearestName } from 'toolcrib'
import { plain } from './text.ts'
import { UsageError } from './usage-error.ts'

/** Throws `UsageError` for an unknown client. */
export function requireClients(
  names: readonly string[],
  clients: readonly { readonly client: string }[],
): void {
  const known = [...new Set(clients.map(({ client }) => client))]
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, known)
  const step = nearest === undefined ? `use one of ${known.join(', ')}` : `did you mean "${nearest}"?`
  throw new UsageError(`unknown client "${plain(unknown)}"; ${step}`)
}

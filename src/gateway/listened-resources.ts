import type { GatewayServices } from './gateway-services.ts'
import { isJson, type Json } from './json-rpc.ts'
import type { ProfileView } from './profile-view.ts'

const MAX_WATCHED = 1_000

/**
 * Watches the resources in a modern client's `subscriptions/listen`, and calls `updated` when one of them changes.
 * Resolves, once they are found, with a function that stops it.
 */
export async function watchListened(
  { offers, subscriptions }: Pick<GatewayServices, 'offers' | 'subscriptions'>,
  view: ProfileView,
  listen: Json,
  updated: (uri: string) => void,
): Promise<() => void> {
  const watching = namedResources(listen).map(async (uri) => {
    // No server has this resource, so it cannot change.
    const offer = await offers.resource(uri, { view }).catch(() => undefined)
    return offer && subscriptions.watch(offer, () => updated(uri))
  })
  const stops = await Promise.all(watching)
  return () => {
    for (const stop of stops) stop?.()
  }
}

function namedResources({ params }: Json): readonly string[] {
  const { notifications } = isJson(params) ? params : {}
  const uris = isJson(notifications) ? notifications.resourceSubscriptions : undefined
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MAX_WATCHED) : []
}

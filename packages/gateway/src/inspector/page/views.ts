import type { ComponentType } from 'preact'
import type { IconName } from './ui/icon.tsx'
import { Clients } from './views/clients/clients.tsx'
import { Live } from './views/live/live.tsx'
import { Overview } from './views/overview/overview.tsx'
import { Safety } from './views/safety/safety.tsx'
import { Search } from './views/search/search.tsx'
import { Servers } from './views/servers/servers.tsx'
import { Sessions } from './views/sessions/sessions.tsx'
import { Tools } from './views/tools/tools.tsx'
import { TryIt } from './views/try-it/try-it.tsx'

/** One view of the page. */
export interface View {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** After `g`. */
  readonly key: string
  /** `rest` is what follows the view in the address. */
  readonly show: ComponentType<{ readonly rest: string }>
}

export const VIEWS: readonly View[] = [
  { path: '', title: 'Overview', icon: 'overview', key: 'o', show: Overview },
  { path: 'tools', title: 'Tools', icon: 'tools', key: 't', show: Tools },
  { path: 'search', title: 'Search', icon: 'search', key: 's', show: Search },
  { path: 'try', title: 'Try it', icon: 'play', key: 'y', show: TryIt },
  { path: 'sessions', title: 'Sessions', icon: 'sessions', key: 'n', show: Sessions },
  { path: 'servers', title: 'Servers', icon: 'servers', key: 'r', show: Servers },
  { path: 'safety', title: 'Safety', icon: 'shield', key: 'f', show: Safety },
  { path: 'live', title: 'Live', icon: 'pulse', key: 'l', show: Live },
  { path: 'clients', title: 'Clients', icon: 'clients', key: 'c', show: Clients },
]

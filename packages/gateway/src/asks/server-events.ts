import type { ToolRegistry } from '@toolcrib/core'
import type { ConnectedServers, ServerListener, ServerNotification } from '@toolcrib/mcp'
import type { ListWatchers } from '../lists/list-watchers.ts'
import { LogLevels } from '../lists/log-levels.ts'
import { Subscriptions } from '../lists/subscriptions.ts'
import type { UnlistedServers } from '../lists/unlisted-servers.ts'
import type { Traffic } from './traffic.ts'

/** What servers send unasked, and which clients get it: questions, log messages, changes of lists and of resources. */
export class ServerEvents {
  readonly traffic: Traffic
  readonly watchers: ListWatchers
  readonly subscriptions: Subscriptions
  readonly logLevels: LogLevels
  readonly #stop: () => void

  constructor(
    { registry, servers }: { readonly registry: ToolRegistry; readonly servers: ConnectedServers },
    {
      traffic,
      watchers,
      unlisted,
    }: { readonly traffic: Traffic; readonly watchers: ListWatchers; readonly unlisted: UnlistedServers },
  ) {
    this.traffic = traffic
    this.watchers = watchers
    this.subscriptions = new Subscriptions(servers)
    this.logLevels = new LogLevels(servers)
    const detach = servers.attach(this.listener)
    const unsubscribe = registry.subscribe((event) => {
      if (event.type !== 'server-state' || event.state === 'connecting') return
      unlisted.settled(event.server)
      if (event.state === 'ready') this.#started(event.server)
    })
    this.#stop = () => {
      detach()
      unsubscribe()
    }
  }

  /** Receives the messages of servers over one connection. */
  get listener(): ServerListener {
    return {
      onRequest: (request) => this.traffic.ask(request),
      onNotification: (notification) => this.#notified(notification),
    }
  }

  close(): void {
    this.#stop()
    this.watchers.close()
    this.subscriptions.close()
  }

  #notified(notification: ServerNotification): void {
    if (notification.method === 'notifications/message') this.traffic.log(notification)
    this.watchers.notified(notification)
    this.subscriptions.notified(notification)
  }

  #started(server: string): void {
    this.traffic.started(server)
    this.subscriptions.restarted(server)
    this.logLevels.started(server)
  }
}

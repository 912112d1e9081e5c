import type { ServerEventBody } from '../events.ts'

/** What happened to a server or on its behalf, as the registry's stream carries it. */
export type McpEvent = { readonly at: number } & ServerEventBody

type WithoutServer<Event> = Event extends unknown ? Omit<Event, 'server'> : never

/** Raises an event of one server, which is named by whoever made the function. Never throws. */
export type EmitMcp = (event: WithoutServer<ServerEventBody>) => void

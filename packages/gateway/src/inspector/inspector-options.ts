import { ToolcribError, type ToolRegistry } from '@toolcrib/core'
import type { ConnectedServers, FindOptions, OpenedRegistry, Schedule } from '@toolcrib/mcp'
import type { ClientPlace, GatewayDoor } from '@toolcrib/mcp/clients'
import type { Store } from '@toolcrib/mcp/stores'
import type { GatewayApprovals } from '../approvals/approvals.ts'
import type { Auditor } from '../audit/audited-call.ts'
import type { SignIns } from './sign-ins.ts'

/** What an inspector shows, and to whom. */
export interface InspectorOptions {
  readonly registry: ToolRegistry
  /** The servers of that registry. The inspector does not close them. */
  readonly servers: ConnectedServers
  /** Decides who may send requests. Pass `gateway.access`. */
  readonly access: InspectorAccess
  /** Keeps the counts of each `config` across restarts; without it they last as long as the process. */
  readonly store?: Store | undefined
  /** Where the config is, to approve changes and to write pins and hints. Without it, the page is read-only. */
  readonly config?: ConfigSource | undefined
  /** The connected clients. Pass the `gateway`. */
  readonly gateway?: ClientList | undefined
  /** Where to look for clients, and how they reach the gateway. Without it, the page cannot connect clients. */
  readonly connect?: ClientConnection | undefined
  /**
   * Lets the user sign in to servers, which must be connected with its `oauth`. Without it, the page offers no sign-in.
   */
  readonly signIns?: SignIns | undefined
  /** The folder of the built page. Default: the one that ships with the package. */
  readonly assets?: string | undefined
  /** The time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined
  /** Starts timers. Default: platform timers that do not keep the process alive. */
  readonly schedule?: Schedule | undefined
}

/** Decides who may send requests, such as `gateway.access`. */
export interface InspectorAccess {
  /** Returns the operator who sent the request, or the response that refuses it. */
  check(request: Request): Promise<Response | object>
  /** Returns the response that refuses an unknown host or origin, for files that need no token. */
  checkAddress(request: Request): Response | undefined
}

/** Where a registry was opened from. */
export interface ConfigSource {
  readonly opened: OpenedRegistry
  /** How to find the config again after a change. */
  readonly find: FindOptions
}

/** Where to look for clients, and how they reach the gateway. */
export interface ClientConnection extends ClientPlace {
  readonly door: GatewayDoor
  /** What a person types to run the command line, such as `npx toolcrib`. Default: `toolcrib`. */
  readonly program?: string | undefined
}

/** Lists the connected clients, and what clients see. A gateway implements it. */
export interface ClientList {
  clients(): readonly ConnectedClient[]
  /** Calls that wait for a person's approval. Without it, the page shows none. */
  readonly approvals?: GatewayApprovals
  /** The record of calls, to which those of the page are added. Default: none. */
  readonly auditor?: Auditor | undefined
  /**
   * The tools that a new client sees, read in a session with this id. Default: what a session of the registry shows
   * under the strategy `dispatch`.
   */
  toolsShown?(sessionId: string): Promise<readonly object[]>
  /** The tools that clients listed with a surface of this fingerprint, while that is remembered. Default: none. */
  toolsListed?(fingerprint: string): readonly object[] | undefined
}

/** A client that uses the gateway. */
export interface ConnectedClient {
  readonly id: string
  /** Names its session: the first 8 hex digits of the SHA-256 of the id in the registry's events. */
  readonly session: string
  readonly name: string | undefined
  readonly version: string | undefined
  readonly token: string
  readonly profile: string | undefined
  readonly era: string
  readonly transport: string
  /** Whether it has a connection now. A client without one counts as connected for a minute after its last request. */
  readonly isOpen?: boolean | undefined
  readonly since: number
  readonly lastSeenAt: number
  readonly requests: number
  readonly calls: number
  readonly failedCalls: number
}

const KEYS: Record<keyof InspectorOptions, true> = {
  registry: true,
  servers: true,
  access: true,
  store: true,
  config: true,
  gateway: true,
  connect: true,
  signIns: true,
  assets: true,
  now: true,
  schedule: true,
}

/** Throws `config-invalid` for an unknown option, and without a registry, servers or access. */
export function checkInspectorOptions(options: InspectorOptions): void {
  const known = Object.keys(KEYS)
  const unknown = Object.keys(options).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw invalid(`an inspector has no option "${unknown}"; it takes ${known.join(', ')}`)
  for (const key of ['registry', 'servers', 'access'] as const)
    if (typeof options[key] !== 'object' || options[key] === null)
      throw invalid(`an inspector needs ${key}; without access anybody could call your tools`)
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

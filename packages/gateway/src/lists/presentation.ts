import type { Surface } from '@toolcrib/core'
import { version } from '../../package.json'
import { offersTasks } from '../calls/tasks.ts'
import type { ServedOptions } from '../gateway-options.ts'
import type { Json } from '../json-rpc.ts'
import { type Era, methodsOf, TASKS_EXTENSION } from '../protocol.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { instructionsFor } from './instructions.ts'

/** How the gateway presents itself when a client connects. */
export interface GatewayDescription {
  readonly info: { readonly name: string; readonly version: string }
  readonly capabilities: Json
  readonly instructions: string | undefined
}

const OPTIONAL = ['prompts', 'resources', 'completions', 'logging']

/** Describes the gateway to clients: its name, what the servers of a view offer together, and instructions. */
export class Presentation {
  readonly #options: ServedOptions
  readonly #capabilities = new Map<ProfileView, Readonly<Record<Era, Json>>>()
  readonly #methods = new WeakMap<Json, ReadonlySet<string>>()
  readonly #unsubscribe: () => void

  constructor(options: ServedOptions) {
    this.#options = options
    this.#unsubscribe = options.registry.subscribe(({ type }) => {
      if (type === 'server-state' || type === 'server-synced') this.#capabilities.clear()
    })
  }

  /** The name and version that clients see. */
  get info(): GatewayDescription['info'] {
    return this.#options.serverInfo ?? { name: 'toolcrib', version }
  }

  /** The capabilities that clients of a view are offered. Older revisions have no extensions. */
  capabilities(view: ProfileView, era: Era): Json {
    const known = this.#capabilities.get(view) ?? this.#collect(view)
    this.#capabilities.set(view, known)
    return known[era]
  }

  /** The requests that clients of a view may send. */
  methods(view: ProfileView, era: Era): ReadonlySet<string> {
    const capabilities = this.capabilities(view, era)
    const known = this.#methods.get(capabilities)
    if (known) return known
    const methods = methodsOf(capabilities, era)
    this.#methods.set(capabilities, methods)
    return methods
  }

  /** How the gateway presents itself to clients of a view that see this surface. */
  describe(
    view: ProfileView,
    surface: Pick<Surface, 'deferredCount' | 'strategy' | 'tools'>,
    era: Era,
  ): GatewayDescription {
    const { servers, instructions } = this.#options
    return {
      info: this.info,
      capabilities: this.capabilities(view, era),
      instructions: instructionsFor(view, { servers, instructions, surface }),
    }
  }

  close(): void {
    this.#unsubscribe()
  }

  #collect(view: ProfileView): Readonly<Record<Era, Json>> {
    const { servers } = this.#options
    const offered = new Set<string>()
    let hasTasks = false
    for (const { server } of servers.status()) {
      if (!view.permitsServer(server)) continue
      const info = servers.info(server)
      // The capabilities of a server that never ran are unknown, so it may offer everything.
      hasTasks ||= info?.era === 'modern' && offersTasks(info.capabilities)
      for (const capability of OPTIONAL) if (!info || info.capabilities[capability]) offered.add(capability)
    }
    // Two objects, because methods are cached by object.
    const legacy = {
      tools: { listChanged: true },
      ...(offered.has('prompts') ? { prompts: { listChanged: true } } : {}),
      ...(offered.has('resources') ? { resources: { listChanged: true, subscribe: true } } : {}),
      ...(offered.has('completions') ? { completions: {} } : {}),
      ...(offered.has('logging') ? { logging: {} } : {}),
    }
    return { legacy, modern: { ...legacy, ...(hasTasks ? { extensions: { [TASKS_EXTENSION]: {} } } : {}) } }
  }
}

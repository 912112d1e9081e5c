import { createMcpHandler, type McpHttpHandler, type ServerContext } from '@modelcontextprotocol/server'
import type { Session } from 'toolcrib'
import type { Principal } from './access.ts'
import type { Json } from './client-line.ts'
import type { ClientScene } from './client-requests.ts'
import type { GatewayCore } from './core.ts'
import { RawServer } from './mcp-server.ts'
import { PendingCall } from './pending-call.ts'
import { serverDescription } from './server-description.ts'
import type { View } from './view.ts'

/** Requests that a server may ask something about before it answers. */
const INTERACTIVE = ['tools/call', 'prompts/get', 'resources/read']

/** Serves clients of the modern era over HTTP, for one token and profile. Each request stands alone. */
export class ModernDoor {
  readonly #core: GatewayCore
  readonly #view: View
  readonly #principal: Principal
  readonly #handler: McpHttpHandler
  #session: Promise<Session> | undefined

  constructor(core: GatewayCore, view: View, principal: Principal) {
    this.#core = core
    this.#view = view
    this.#principal = principal
    this.#handler = createMcpHandler(() => this.#server(), {
      legacy: 'reject',
      maxRequestBodySize: core.limits.maxBodyBytes,
      onerror: ({ message }) => core.warn(message),
    })
  }

  fetch(request: Request, parsedBody: unknown): Promise<Response> {
    return this.#handler.fetch(request, { parsedBody })
  }

  async close(): Promise<void> {
    await this.#handler.close()
    await (await this.#session)?.close().catch(() => {})
  }

  #server(): RawServer {
    return new RawServer(serverDescription(this.#core, this.#view, 'modern'), (method, params, ctx) =>
      this.#answer(method, params, ctx),
    )
  }

  async #answer(method: string, params: Json, ctx: ServerContext): Promise<Json> {
    this.#session ??= this.#core.openSession(this.#view, `${this.#principal.id}:${this.#view.profile ?? ''}`)
    const scene = this.#core.scene(this.#view, await this.#session)
    return answerModern(this.#core, { method, params, ctx, scene, principal: this.#principal.id })
  }
}

/** A request of a modern client, with what it sees. */
export interface ModernRequest {
  readonly method: string
  readonly params: Json
  readonly ctx: ServerContext
  readonly scene: ClientScene
  readonly principal: string
}

/** Answers a request of a modern client, over HTTP or stdio. */
export function answerModern(
  { requests, modernCalls, newId }: GatewayCore,
  { method, params, ctx, scene, principal }: ModernRequest,
): Promise<Json> {
  if (!INTERACTIVE.includes(method))
    return requests.answer(method, params, scene, new PendingCall(ctx, { owner: newId(), principal }))
  const boundTo = JSON.stringify([principal, scene.view.profile ?? null, method, params.name ?? params.uri])
  return modernCalls.run({ params, ctx, principal, boundTo }, (sent, line) =>
    requests.answer(method, sent, scene, line),
  )
}

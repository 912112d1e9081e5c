import type { ClientLine, Json } from './client-line.ts'
import { RpcError } from './rpc-error.ts'
import type { CallScene, ToolCalls } from './tool-calls.ts'
import type { ToolList } from './tool-list.ts'
import type { View } from './view.ts'

const METHOD_NOT_FOUND = -32_601

/** What a client sees, and the session it sees it with. */
export interface ClientScene extends CallScene {
  readonly view: View
}

/** The requests that clients make, one method each, whatever their era. */
export class ClientRequests {
  readonly #tools: ToolList
  readonly #calls: ToolCalls

  constructor(tools: ToolList, calls: ToolCalls) {
    this.#tools = tools
    this.#calls = calls
  }

  async answer(method: string, params: Json, scene: ClientScene, line: ClientLine): Promise<Json> {
    switch (method) {
      case 'tools/list':
        return { tools: this.#tools.of(scene.session, scene.names) }
      case 'tools/call':
        return this.#calls.call(params, scene, line)
      default:
        throw new RpcError(METHOD_NOT_FOUND, 'Method not found')
    }
  }
}

import type { ClientLine } from './client-line.ts'
import { type Json, METHOD_NOT_FOUND, RpcError } from './json-rpc.ts'
import type { ClientLoad } from './load-limits.ts'
import type { Offers } from './offers.ts'
import type { Tasks } from './tasks.ts'
import type { CallScene, ToolCalls } from './tool-calls.ts'
import type { ToolList } from './tool-list.ts'

/** Handles the requests of clients of both eras, with one function per method. */
export class ClientRequests {
  readonly #tools: ToolList
  readonly #calls: ToolCalls
  readonly #offers: Offers
  readonly #load: ClientLoad
  readonly #tasks: Tasks

  constructor(tools: ToolList, calls: ToolCalls, offers: Offers, tasks: Tasks, load: ClientLoad) {
    this.#tasks = tasks
    this.#load = load
    this.#tools = tools
    this.#calls = calls
    this.#offers = offers
  }

  /** Returns the result of a request. Throws an `RpcError` if it must be answered with an error. */
  async answer(method: string, params: Json, scene: CallScene, line: ClientLine): Promise<Json> {
    const end = this.#load.begin(line.principal)
    try {
      return await this.#answer(method, params, scene, line)
    } finally {
      end()
    }
  }

  #answer(method: string, params: Json, scene: CallScene, line: ClientLine): Promise<Json> {
    const { view } = scene
    switch (method) {
      case 'tools/list':
        return this.#tools.of(scene).then((tools) => ({ tools }))
      case 'tools/call':
        return this.#calls.call(params, scene, line)
      case 'prompts/list':
        return this.#offers.list('prompts', { view, line })
      case 'prompts/get':
        return this.#offers.getPrompt(params, view, line)
      case 'resources/list':
        return this.#offers.list('resources', { view, line })
      case 'resources/templates/list':
        return this.#offers.list('resourceTemplates', { view, line })
      case 'resources/read':
        return this.#offers.readResource(params, view, line)
      case 'completion/complete':
        return this.#offers.complete(params, view, line)
      case 'tasks/get':
      case 'tasks/update':
      case 'tasks/cancel':
        return this.#tasks.answer(method, params, { scene, line })
      default:
        throw new RpcError(METHOD_NOT_FOUND, 'Method not found')
    }
  }
}

import type { ClientLine } from '../asks/client-line.ts'
import { type Json, METHOD_NOT_FOUND, RpcError } from '../json-rpc.ts'
import type { PromptsAndResources } from '../lists/prompts-and-resources.ts'
import type { ToolList } from '../lists/tool-list.ts'
import type { ClientLoad } from '../load/load-limits.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { Tasks } from './tasks.ts'
import type { ToolCalls } from './tool-calls.ts'

/** Handles the requests of clients of both eras, with one function per method. */
export class ClientRequests {
  readonly #tools: ToolList
  readonly #calls: ToolCalls
  readonly items: PromptsAndResources
  readonly #load: ClientLoad
  readonly #tasks: Tasks

  constructor(tools: ToolList, calls: ToolCalls, items: PromptsAndResources, tasks: Tasks, load: ClientLoad) {
    this.#tasks = tasks
    this.#load = load
    this.#tools = tools
    this.#calls = calls
    this.items = items
  }

  /** Returns the result of a request. Throws an `RpcError` if it must be answered with an error. */
  async answer(method: string, params: Json, client: ClientSession, line: ClientLine): Promise<Json> {
    const end = this.#load.begin(line.principal)
    try {
      return await this.#answer(method, params, client, line)
    } finally {
      end()
    }
  }

  #answer(method: string, params: Json, client: ClientSession, line: ClientLine): Promise<Json> {
    const { view } = client
    switch (method) {
      case 'tools/list':
        return this.#tools.of(client).then((tools) => ({ tools }))
      case 'tools/call':
        return this.#calls.call(params, client, line)
      case 'prompts/list':
        return this.items.list('prompts', { view, line })
      case 'prompts/get':
        return this.items.getPrompt(params, view, line)
      case 'resources/list':
        return this.items.list('resources', { view, line })
      case 'resources/templates/list':
        return this.items.list('resourceTemplates', { view, line })
      case 'resources/read':
        return this.items.readResource(params, view, line)
      case 'completion/complete':
        return this.items.complete(params, view, line)
      case 'tasks/get':
      case 'tasks/update':
      case 'tasks/cancel':
        return this.#tasks.answer(method, params, { client, line })
      default:
        throw new RpcError(METHOD_NOT_FOUND, 'Method not found')
    }
  }
}

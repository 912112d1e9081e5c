import type { ClientLine, Json } from './client-line.ts'
import type { RequestStates } from './request-states.ts'
import { RpcError } from './rpc-error.ts'
import { isJson, TASKS_EXTENSION, type Upstream } from './upstream.ts'
import type { View } from './view.ts'

export const TASK_METHODS: readonly string[] = ['tasks/get', 'tasks/update', 'tasks/cancel']

const MISSING_CAPABILITY = -32_021
const INVALID_PARAMS = -32_602

/**
 * Tasks of modern servers. The id that a client gets names the server and the server's own id, sealed for the token and
 * profile of that client: nothing is kept here, and nobody else can ask about the task.
 */
export class Tasks {
  readonly #states: RequestStates
  readonly #upstream: Upstream

  constructor(states: RequestStates, upstream: Upstream) {
    this.#states = states
    this.#upstream = upstream
  }

  /** The result of a call as its client gets it. */
  async issued(result: Json, server: string, client: TaskOwner): Promise<Json> {
    const { taskId, resultType } = result
    if (resultType !== 'task' || typeof taskId !== 'string') return result
    return { ...result, taskId: await this.#states.sealForever({ server, taskId }, boundTo(client)) }
  }

  /** Answers a request about a task, with what its server answers. */
  async answer(method: string, params: Json, { view, line }: TaskOwner): Promise<Json> {
    if (!offersTasks(line.capabilities))
      throw new RpcError(MISSING_CAPABILITY, `${method} needs a client with the tasks extension`, {
        requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
      })
    const { taskId } = params
    const opened =
      typeof taskId === 'string' ? await this.#states.open(taskId, boundTo({ view, line })) : undefined
    const server = String(opened?.server)
    if (!opened || !view.permitsServer(server))
      throw new RpcError(
        INVALID_PARAMS,
        'Unknown task; it may have been of another client, or of another gateway',
      )
    const sent = { method, params: { ...params, taskId: opened.taskId } }
    const result = await this.#upstream.send(server, sent, line)
    return result.taskId === undefined ? result : { ...result, taskId }
  }
}

interface TaskOwner {
  readonly view: View
  readonly line: ClientLine
}

/** Whether a client or a server with these capabilities knows tasks. */
export function offersTasks({ extensions }: Json): boolean {
  return isJson(extensions) && extensions[TASKS_EXTENSION] !== undefined
}

function boundTo({ view, line }: TaskOwner): string {
  return JSON.stringify(['task', line.principal, view.profile ?? null])
}

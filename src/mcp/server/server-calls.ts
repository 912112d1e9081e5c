import { describeError } from '../../errors.ts'
import { SchemaCache } from '../../schema/check-arguments.ts'
import type { ToolContext, ToolResult } from '../../tool.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { Connection } from '../connection/connection.ts'
import type { EmitMcp } from '../mcp-event.ts'
import { callServerTool, type ServerCall } from './call-server-tool.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerLink } from './server-link.ts'
import type { ServerReport } from './server-report.ts'
import type { ServerTool } from './server-tool.ts'

const TIMEOUT_MS = 60_000

/** What a call goes through. */
export interface CallParts {
  readonly link: ServerLink
  readonly catalogue: ServerCatalogue
  readonly report: ServerReport
  readonly emit: EmitMcp
}

/** The calls of one server's tools. */
export class ServerCalls {
  readonly #server: string
  readonly #config: ServerConfig
  readonly #parts: CallParts
  readonly #outputSchemas = new SchemaCache()

  constructor(server: string, config: ServerConfig, parts: CallParts) {
    this.#server = server
    this.#config = config
    this.#parts = parts
  }

  /** Runs one call, starting the server if need be. Never rejects. */
  async call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    // Tools found under another config stay registered until this one's are known.
    if (!this.#parts.catalogue.takes(tool.name))
      return unavailable(
        `calling "${tool.name}" of server "${this.#server}" is not permitted: its config leaves it out`,
      )
    const { timeoutMs = TIMEOUT_MS, trust = false } = this.#config
    const release = this.#parts.link.hold()
    try {
      return await this.#callOnce({
        server: this.#server,
        tool,
        input,
        ctx,
        timeoutMs,
        isTrusted: trust,
        outputSchemas: this.#outputSchemas,
      })
    } finally {
      release()
    }
  }

  async #callOnce(call: ServerCall, { isAgain = false } = {}): Promise<ToolResult> {
    const { link, catalogue, emit } = this.#parts
    let connection: Connection
    try {
      connection = await link.connected()
    } catch (error) {
      const reason = `server "${this.#server}" is disconnected: ${describeError(error)}`
      return unavailable(`${reason}. Use another tool, or try later`)
    }
    try {
      const refusal = await catalogue.refusalOf(call.tool.name, connection)
      if (refusal !== undefined) return unavailable(refusal)
      return await callServerTool(connection, call, emit)
    } catch (error) {
      // It needs the SDK, which came with the connection and not before.
      const describe = await import('./describe-call-error.ts')
      if (!describe.isSessionLost(error) || isAgain) return this.#failed(error, call, connection, describe)
      await link.drop(connection)
      return this.#callOnce(call, { isAgain: true })
    }
  }

  #failed(
    error: unknown,
    call: ServerCall,
    connection: Connection,
    describe: typeof import('./describe-call-error.ts'),
  ): ToolResult {
    const closedBecause = connection.isClosed ? connection.closedBecause : undefined
    const isSilent = closedBecause === undefined && !describe.isAnswer(error)
    if (isSilent) this.#parts.link.doubt(connection)
    const answer = describe.describeCallError(error, call, closedBecause)
    return answer.ok ? answer : { ...answer, error: this.#parts.report.tellable(answer.error) }
  }
}

function unavailable(error: string): ToolResult {
  return { ok: false, code: 'not_available', error }
}

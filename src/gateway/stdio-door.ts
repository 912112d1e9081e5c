import { ToolcribError } from 'toolcrib'
import type { Principal } from './access.ts'
import type { Era } from './client-line.ts'
import type { GatewayCore } from './core.ts'
import { LegacyClient } from './legacy-client.ts'
import type { RawServer } from './mcp-server.ts'
import { ModernClient } from './modern-client.ts'
import type { View } from './view.ts'

/** Who is served over stdio. */
export interface StdioOptions {
  /** What the client sees; all of the registry when absent. */
  readonly profile?: string | undefined
  readonly input?: NodeJS.ReadableStream | undefined
  readonly output?: NodeJS.WritableStream | undefined
}

/** Whoever started the process. */
const LOCAL: Principal = { id: 'stdio', name: 'stdio', profile: undefined }

/** Serves one client over stdin and stdout. */
export class StdioDoor {
  /** Resolves when the client has gone, or the door is closed. Rejects when it cannot be opened. */
  readonly closed: Promise<void>
  readonly #core: GatewayCore
  readonly #view: View
  readonly #clients: { close(): Promise<void> }[] = []
  #close: () => Promise<void> = async () => {}

  constructor(core: GatewayCore, { profile, input = process.stdin, output = process.stdout }: StdioOptions) {
    const view = core.view(profile, LOCAL)
    if (!view) throw new ToolcribError('config-invalid', `there is no profile "${profile}"`)
    this.#core = core
    this.#view = view
    this.closed = this.#serve(input, output)
  }

  async close(): Promise<void> {
    await this.#close()
    await this.closed
  }

  async #serve(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
    const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
    const { Readable, Writable } = await import('node:stream')
    const transport = new StdioServerTransport(
      input instanceof Readable ? input : new Readable().wrap(input),
      output instanceof Writable ? output : process.stdout,
    )
    const handle = serveStdio(({ era }) => this.#client(era), {
      transport,
      onerror: ({ message }) => this.#core.warn(message),
    })
    await new Promise<void>((resolve) => {
      this.#close = async () => {
        await handle.close().catch(() => {})
        resolve()
      }
      input.once('end', resolve)
      input.once('close', resolve)
    })
    await handle.close().catch(() => {})
    await Promise.all(this.#clients.map((client) => client.close()))
  }

  async #client(era: Era): Promise<RawServer> {
    const core = this.#core
    const view = this.#view
    const id = core.newId()
    const session = await core.openSession(view, id, { isKept: false })
    if (era === 'legacy') {
      const client = new LegacyClient(
        core,
        id,
        { principal: LOCAL, view, activation: 'doors', transport: 'stdio' },
        session,
      )
      this.#clients.push(client)
      return client.server
    }
    const client = new ModernClient(
      core,
      { principal: LOCAL, view, transport: 'stdio' },
      session,
      (method) => {
        void server.tell({ method })
      },
    )
    const server = client.server()
    this.#clients.push(client)
    return server
  }
}

import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { type ConnectOptions, connectOver, type FoundConfig, type ServerConfig } from '@toolcrib/mcp'
import type { RunningGateway } from './running-gateway.ts'

/**
 * How a command connects to servers while a gateway of the same config is running: through the gateway, so that no server
 * runs twice and its state survives between two commands. A server whose config differs from the gateway's is started by
 * the command.
 */
export function gatewayConnections(
  running: RunningGateway,
  { config }: FoundConfig,
): Pick<ConnectOptions, 'open'> {
  return {
    open: async (request, openDirectly) => {
      const configured = config.servers[request.server]
      const digest = running.report.digests?.[request.server]
      if (configured === undefined || digest !== serverDigest(configured)) return openDirectly(request)
      const info = await running.describeServer(request.server, request.signal)
      const stream = await running.openServer(request.server)
      return connectOver(new LineTransport(stream), request, info)
    },
  }
}

/** Equal if two processes mean the same server: the same command with the same arguments and variables. */
export function serverDigest(server: ServerConfig): string {
  return createHash('sha256').update(JSON.stringify(server)).digest('hex')
}

/** JSON-RPC messages over a stream, one per line. */
class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #stream: Duplex
  /** The parts of an incomplete line. */
  #pieces: string[] = []

  constructor(stream: Duplex) {
    this.#stream = stream
  }

  async start(): Promise<void> {
    this.#stream.setEncoding('utf8')
    this.#stream.on('data', (chunk: string) => this.#read(chunk))
    this.#stream.once('close', () => this.onclose?.())
    this.#stream.on('error', (error) => this.onerror?.(error))
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#stream.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.#stream.destroy()
  }

  #read(chunk: string): void {
    const [first = '', ...lines] = chunk.split('\n')
    this.#pieces.push(first)
    for (const line of lines) {
      this.#deliver(this.#pieces.join(''))
      this.#pieces = [line]
    }
  }

  #deliver(line: string): void {
    try {
      this.onmessage?.(JSON.parse(line))
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      this.#stream.destroy()
    }
  }
}

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { ToolRegistry } from 'toolcrib'
import { createGateway, GATEWAY_CAPABILITIES, type Gateway, type GatewayOptions } from 'toolcrib/gateway'
import { type ConnectedServers, type ConnectOptions, connectServers } from 'toolcrib/mcp'
import { onTestFinished } from 'vitest'

export const URL_OF_GATEWAY = 'http://localhost/mcp'

/** A gateway before real servers, closed at the end of the test. */
export async function openGateway(
  mcpServers: Record<string, object>,
  options: Partial<GatewayOptions> = {},
  connect: ConnectOptions = {},
): Promise<{ gateway: Gateway; registry: ToolRegistry; servers: ConnectedServers }> {
  const registry = options.registry ?? new ToolRegistry()
  const servers = connectServers(
    registry,
    { mcpServers },
    { client: { capabilities: GATEWAY_CAPABILITIES }, ...connect },
  )
  await servers.ready()
  const gateway = createGateway({ servers, ...options, registry })
  onTestFinished(async () => {
    await gateway.close()
    await servers.close()
  })
  return { gateway, registry, servers }
}

export interface ClientSetup {
  readonly era?: 'modern' | 'legacy'
  readonly url?: string
  readonly token?: string
  readonly capabilities?: object
}

/** A client of the SDK at a gateway, without a socket in between. */
export async function connectClient(
  gateway: Pick<Gateway, 'fetch'>,
  { era = 'modern', url = URL_OF_GATEWAY, token, capabilities = {} }: ClientSetup = {},
): Promise<Client> {
  const client = new Client(
    { name: `${era} client`, version: '1' },
    { capabilities, versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  )
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: (input, init) => gateway.fetch(new Request(input, init)),
    ...(token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

/** One request of a modern client, sent by hand: nothing of the answer is lost on the way. */
export async function rawRequest(
  gateway: Pick<Gateway, 'fetch'>,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params._meta as object | undefined),
  }
  const name = params.name ?? params.uri
  const response = await gateway.fetch(
    new Request(URL_OF_GATEWAY, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    }),
  )
  const text = await response.text()
  const data = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
  return { status: response.status, answer: JSON.parse(data) }
}

/** A modern server over HTTP with these tools, closed at the end of the test. Returns its URL and the headers it got. */
export async function serveTools(
  register: (server: McpServer) => void,
): Promise<{ url: string; seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'tools', version: '1' })
    register(server)
    return server
  })
  const answer = getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false })
  const listener = createServer((request, response) => {
    seen.push(request.headers)
    void answer(request, response)
  })
  onTestFinished(() => void listener.close())
  return { url: await listening(listener), seen }
}

/** Listens on a free port of this machine; returns the URL. */
export async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

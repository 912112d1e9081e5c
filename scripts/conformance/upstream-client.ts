import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ToolRegistry } from 'toolcrib'
import { createGateway, GATEWAY_CAPABILITIES } from 'toolcrib/gateway'
import { connectServers } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'

/** What the suite tells a client that it starts. */
interface Scenario {
  readonly url: string
  readonly revision: string
  readonly context: Context
}

interface Context {
  readonly client_id?: string
  readonly client_secret?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
}

/**
 * The clients of all scenarios, each behind a gateway of its own: the suite's servers see what the gateway does upstream. They
 * share this process, because the suite starts all of its clients at once; `relay.mjs` is what it starts.
 */
export async function startUpstreamClients() {
  const listener = createServer(async (request, response) => {
    const output = await runScenario((await json(request)) as Scenario).catch((error: unknown) =>
      String(error),
    )
    response.end(output)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  const port = typeof address === 'object' ? address?.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      listener.close()
      listener.closeAllConnections()
    },
  }
}

/** Lists the tools of the suite's server and calls each of them, through a gateway. Returns what happened. */
async function runScenario({ url, revision, context }: Scenario): Promise<string> {
  const registry = new ToolRegistry()
  const servers = connectServers(
    registry,
    { mcpServers: { suite: { type: 'http', url, ...credentialsOf(context) } } },
    {
      client: { capabilities: GATEWAY_CAPABILITIES },
      store: memoryStore(),
      oauth: {
        redirectUrl: 'http://localhost:7118/callback',
        clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
        authorize: consent,
      },
    },
  )
  try {
    await servers.ready()
    const gateway = createGateway({ registry, servers, mode: 'full', names: 'plain' })
    const client = await connectClient(gateway, revision)
    const { tools } = await client.listTools()
    const calls =
      context.toolCalls ?? tools.map(({ name, inputSchema }) => ({ name, arguments: samplesOf(inputSchema) }))
    const output = [JSON.stringify(servers.status())]
    for (const call of calls) {
      const result = await client.callTool(call).catch((error: unknown) => String(error))
      output.push(`${call.name}: ${JSON.stringify(result)}`)
    }
    await client.close()
    await gateway.close()
    return output.join('\n')
  } finally {
    await servers.close()
  }
}

function credentialsOf({ client_id: clientId, client_secret: clientSecret }: Context): object {
  if (clientId === undefined) return {}
  return { oauth: { clientId, ...(clientSecret === undefined ? {} : { clientSecret }) } }
}

/** A client of the SDK that can be asked for everything. */
async function connectClient(
  gateway: { fetch(request: Request): Promise<Response> },
  revision: string,
): Promise<Client> {
  const client = new Client(
    { name: 'conformance', version: '1' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: { mode: revision === '2026-07-28' ? { pin: '2026-07-28' } : 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'hello' },
  }))
  client.setRequestHandler('roots/list', async () => ({ roots: [] }))
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
      fetch: (input, init) => gateway.fetch(new Request(input, init)),
    }),
  )
  return client
}

/** A user who consents at once. */
async function consent({ url }: { readonly url: URL }): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '', url).searchParams
}

/** Arguments that fit a schema. */
function samplesOf({
  properties = {},
}: {
  readonly properties?: Readonly<Record<string, unknown>> | undefined
}): Record<string, unknown> {
  const samples: Record<string, unknown> = {
    string: 'text',
    number: 5,
    integer: 5,
    boolean: true,
    array: [],
    object: {},
  }
  const entries = Object.entries(properties).map(([key, schema]) => {
    const { type, enum: choices } = schema as { type?: string; enum?: unknown[] }
    return [key, choices?.[0] ?? samples[type ?? 'string']]
  })
  return Object.fromEntries(entries)
}

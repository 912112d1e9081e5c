import type { IncomingMessage, ServerResponse } from 'node:http'

/** What tools return: a text, or blocks of content. */
type Answers = Record<string, (args: Record<string, unknown>) => string | readonly object[]>

/** A minimal hand-written MCP server over streamable HTTP: plain JSON responses, an older revision. */
export function speak(tools: Answers, { session }: { session?: string } = {}) {
  return async (request: IncomingMessage, response: ServerResponse, body?: string) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body ?? (await bodyOf(request)))
    const isGreeting = method === 'initialize' || method === 'server/discover'
    if (session && !isGreeting && request.headers['mcp-session-id'] !== session)
      return response.writeHead(404).end()
    if (id === undefined) return response.writeHead(202).end()
    const results: Record<string, () => unknown> = {
      initialize: () => ({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'by-hand', version: '1' },
      }),
      'tools/list': () => ({
        tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
      }),
      'tools/call': () => {
        const answer = tools[params.name]?.(params.arguments)
        return { content: typeof answer === 'object' ? answer : [{ type: 'text', text: answer }] }
      },
      ping: () => ({}),
    }
    const result = results[method]?.()
    const error = { code: -32601, message: 'Method not found' }
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(session && isGreeting ? { 'mcp-session-id': session } : {}),
    })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
  }
}

/** Adds an authorization server in front of another handler: one code, one token. */
export function authorized(handle: (request: IncomingMessage, response: ServerResponse) => unknown) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const origin = `http://${request.headers.host}`
    const url = new URL(request.url ?? '/', origin)
    const json = (data: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(data))
    }
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource'))
      return json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (url.pathname.startsWith('/.well-known/oauth-authorization-server'))
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    if (url.pathname === '/register')
      return json({ ...JSON.parse(await bodyOf(request)), client_id: 'me' }, 201)
    if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', 'the-code')
      back.searchParams.set('state', url.searchParams.get('state') ?? '')
      return response.writeHead(302, { location: back.href }).end()
    }
    if (url.pathname === '/token') {
      const form = new URLSearchParams(await bodyOf(request))
      if (form.get('code') !== 'the-code' || !form.get('code_verifier'))
        return json({ error: 'invalid_grant' }, 400)
      return json({ access_token: 'the-token', token_type: 'Bearer', expires_in: 3600 })
    }
    if (request.headers.authorization === 'Bearer the-token') return handle(request, response)
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    return response.writeHead(401, { 'www-authenticate': challenge }).end()
  }
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}

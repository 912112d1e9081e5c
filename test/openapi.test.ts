import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ToolRegistry } from 'toolcrib'
import { registerOpenApi } from 'toolcrib/openapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PET_SHOP } from './fixtures/pet-shop.ts'

/** What the server received last. */
let received: { line: string; headers: IncomingMessage['headers']; body: string }
let server: Server
let baseUrl: string

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      received = {
        line: `${request.method} ${request.url}`,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      const { pathname } = new URL(request.url ?? '', 'http://localhost')
      if (pathname === '/v1/away')
        return response.writeHead(302, { location: 'http://localhost:1/elsewhere' }).end()
      if (pathname === '/v1/broken')
        return response.writeHead(500).end(`it knows ${request.headers['x-api-key']}`)
      if (pathname === '/v1/hidden')
        return response
          .setHeader('content-type', 'application/json')
          .end('[{"text":"a\u200bb\\u202ec\u{e0041}"}]')
      const link = pathname === '/v1/pets' ? { link: '</v1/pets?page=2>; rel="next"' } : {}
      response.writeHead(200, { 'content-type': 'application/json', ...link }).end('[{"id":1}]')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`
})
afterAll(() => server.close())

function shop(options: { allow?: string[]; deny?: string[]; baseUrl?: string } = {}) {
  const registry = new ToolRegistry()
  const headers = { 'x-api-key': 'a-secret-of-the-host' }
  const report = registerOpenApi(registry, PET_SHOP, { api: 'shop', baseUrl, headers, ...options })
  const call = async (name: string, args: object = {}) => {
    const calls = [{ toolCallId: '1', name: `openapi__shop__${name}`, args }]
    return (await registry.executeParallel(calls, { sessionId: 's' }))[0]?.result
  }
  return { registry, report, call }
}

describe('an API as a source of tools', () => {
  it('has a tool for each operation but deprecated ones, with hints by method', () => {
    const { registry, report } = shop()
    expect(report.skipped).toEqual([])
    expect(report.added).not.toContain('openapi__shop__oldPets')
    const [listed] = registry.listSchemas().filter(({ name }) => name === 'openapi__shop__listPets')
    expect(listed).toMatchObject({ source: 'openapi', api: 'shop', description: 'List all pets' })
    expect(registry.get('openapi__shop__listPets')?.annotations).toMatchObject({ readOnlyHint: true })
    expect(registry.get('openapi__shop__deletePet')?.annotations).toMatchObject({ destructiveHint: true })
    // Without an operationId, method and path name it.
    expect(registry.has('openapi__shop__get_away')).toBe(true)
  })

  it('sends parameters in the style of the document, and says how to get the next page', async () => {
    const { call } = shop()
    const result = await call('listPets', {
      tags: ['a b', 'c'],
      ids: [1, 2],
      filter: { kind: 'cat' },
      'X-Trace': 't',
    })
    expect(received.line).toBe('GET /v1/pets?tags=a%20b&tags=c&ids=1,2&filter%5Bkind%5D=cat')
    expect(received.headers).toMatchObject({ 'x-trace': 't', 'x-api-key': 'a-secret-of-the-host' })
    expect(result).toMatchObject({ ok: true, structured: [{ id: 1 }] })
    expect(result?.ok && result.value).toContain('there is more: call again with page: "2"')
  })

  it('sends bodies as JSON and as forms', async () => {
    const { call } = shop()
    expect(
      await call('createPet', { body: { name: 'Tom', owner: { name: 'Ann', pet: null } } }),
    ).toMatchObject({ ok: true })
    expect(received).toMatchObject({
      line: 'POST /v1/pets',
      body: '{"name":"Tom","owner":{"name":"Ann","pet":null}}',
    })
    expect(received.headers['content-type']).toBe('application/json')
    await call('login', { body: { user: 'a&b', roles: ['x', 'y'] } })
    expect(received).toMatchObject({ body: 'user=a%26b&roles=x&roles=y' })
  })

  it('checks arguments against the schema, which has shared schemas once and nothing of answers', async () => {
    const { registry, call } = shop()
    expect(await call('createPet', { body: { name: 7 } })).toMatchObject({ ok: false, code: 'input_invalid' })
    const { inputSchema } = registry.get('openapi__shop__createPet') ?? {}
    expect(JSON.stringify(inputSchema)).not.toContain('createdAt')
    expect(inputSchema).toMatchObject({
      required: ['body'],
      $defs: {
        Pet: {
          properties: {
            owner: { $ref: '#/$defs/Owner' },
            age: { type: ['integer', 'null'], exclusiveMinimum: 0 },
          },
        },
      },
    })
  })

  it('keeps credentials from the model and from results', async () => {
    const { registry, call } = shop()
    expect(JSON.stringify(registry.toDefinitions())).not.toMatch(/api-key|authorization/i)
    const result = await call('broken')
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining('answered 500') })
    expect(JSON.stringify(result)).not.toContain('a-secret-of-the-host')
  })

  it('follows neither a path in an argument nor a redirect to another host', async () => {
    const { call } = shop()
    expect(await call('getPet', { id: '..' })).toMatchObject({ ok: false, code: 'input_invalid' })
    await call('getPet', { id: '../admin?x=1' })
    expect(received.line).toBe('GET /v1/pets/..%2Fadmin%3Fx%3D1')
    expect(await call('get_away')).toMatchObject({ ok: false, code: 'denied' })
  })

  it('reaches no private address that only the document names', async () => {
    const registry = new ToolRegistry()
    registerOpenApi(registry, { ...PET_SHOP, servers: [{ url: baseUrl }] }, { api: 'shop' })
    const [call] = await registry.executeParallel(
      [{ toolCallId: '1', name: 'openapi__shop__listPets', args: {} }],
      { sessionId: 's' },
    )
    expect(call?.result).toMatchObject({ ok: false, code: 'denied' })
  })

  it('is narrowed by operation, tag, and method with path; a rule that matches nothing is an error', () => {
    expect(shop({ allow: ['tag:pets'], deny: ['DELETE /*'] }).report.added).toEqual(
      ['listPets', 'createPet', 'getPet'].map((name) => `openapi__shop__${name}`),
    )
    expect(shop({ deny: ['delete-pet'] }).report.added).not.toContain('openapi__shop__deletePet')
    expect(() => shop({ deny: ['deletePets'] })).toThrow(
      'deny "deletePets" matches no operation of the API; did you mean "deletePet"?',
    )
  })

  it('obeys the rules of the registry in each spelling', async () => {
    const registry = new ToolRegistry({ policy: { deny: ['shop.delete_pet'] } })
    registerOpenApi(registry, PET_SHOP, { api: 'shop', baseUrl })
    expect(registry.explain('openapi__shop__deletePet')).toMatchObject({ state: 'denied' })
    const { matches } = await registry.search('server:shop list pets')
    expect(matches[0]?.name).toBe('openapi__shop__listPets')
    expect(registry.toDefinitions(undefined, { allowedApis: [] })).toEqual([])
    registerOpenApi(registry, { ...PET_SHOP, paths: {} }, { api: 'shop', baseUrl })
    expect(registry.size).toBe(0)
  })

  it('passes on no hidden characters, and no secret of an address', async () => {
    const { call } = shop()
    const result = await call('hidden')
    expect(JSON.stringify(result)).not.toMatch(/\u202e|\u{e0041}/iu)
    expect(result).toMatchObject({ ok: true, structured: [{ text: 'abc' }] })
    const registry = new ToolRegistry()
    const key = 'a-long-secret-key'
    registerOpenApi(registry, PET_SHOP, { api: 'shop', baseUrl: `http://127.0.0.1:1/v1?api_key=${key}` })
    const calls = [{ toolCallId: '1', name: 'openapi__shop__listPets', args: {} }]
    const [failed] = await registry.executeParallel(calls, { sessionId: 's' })
    expect(failed?.result).toMatchObject({
      ok: false,
      error: expect.stringContaining('could not be fetched'),
    })
    expect(JSON.stringify(failed)).not.toContain(key)
  })

  it('sends what the host configured and not what an argument says, and nothing that every object has', async () => {
    const registry = new ToolRegistry()
    const headers = { 'X-Trace': 'the host', cookie: 'sid=1' }
    const parameters = ['constructor', 'body'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string' },
    }))
    const get = {
      operationId: 'odd',
      parameters: [...parameters, { name: 'X-Trace', in: 'header' }, { name: 'sid', in: 'cookie' }],
    }
    const document = { openapi: '3.1.0', paths: { '/odd?action=go': { get }, ':9/other': { get } } }
    expect(registerOpenApi(registry, document, { api: 'shop', baseUrl, headers }).added).toHaveLength(1)
    const run = async (args: object) => {
      const calls = [{ toolCallId: '1', name: 'openapi__shop__odd', args }]
      return (await registry.executeParallel(calls, { sessionId: 's' }))[0]?.result
    }
    expect(await run({ body: 'b' })).toMatchObject({ ok: true })
    expect(received).toMatchObject({
      line: 'GET /v1/odd?action=go&body=b',
      headers: { 'x-trace': 'the host', cookie: 'sid=1' },
    })
    expect(await run({ 'X-Trace': 'evil' })).toMatchObject({ ok: false, code: 'input_invalid' })
  })

  it('explains a document that it cannot read', () => {
    const read = (document: string | object) => () =>
      registerOpenApi(new ToolRegistry(), document, { api: 'x', baseUrl })
    expect(read({ swagger: '2.0' })).toThrow('convert it to OpenAPI 3')
    expect(read('openapi: [')).toThrow('the OpenAPI document cannot be read')
    expect(read('openapi: 3.0.0\npaths: {}')).not.toThrow()
    expect(() => registerOpenApi(new ToolRegistry(), PET_SHOP, { api: 'x' })).toThrow('needs a baseUrl')
    expect(() => registerOpenApi(new ToolRegistry(), PET_SHOP, { api: 'x', denny: [] } as never)).toThrow(
      'did you mean "deny"',
    )
  })
})

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { hostTest } from './network/host-list.ts'
import { type NetworkOptions, networkBackend } from './network.ts'
import { testScope } from './testing-scope.ts'

const run = promisify(execFile)

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A loopback server that records its requests. */
async function serve(handler: Handler = (_request, response) => response.end('hello')) {
  const requests: { url: string; method: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers, body })
    handler(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { requests, port, at: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }
}

const redirectTo =
  (location: string, status = 302): Handler =>
  (_request, response) =>
    response.writeHead(status, { location }).end()

async function network(options: NetworkOptions, declared = ['*'], signal = new AbortController().signal) {
  return networkBackend(options).open(declared, testScope({ signal }))
}

const denied = { code: 'denied' }

describe('which hosts', () => {
  it('reaches the hosts that the host lists and allows', async () => {
    const site = await serve()
    const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at] })
    const response = await access.fetch(site.url)
    expect(await response.text()).toBe('hello')
    expect(response).toMatchObject({ status: 200, ok: true, redirected: false, url: `${site.url}/` })
  })

  it('denies hosts that are not listed, without resolving them', async () => {
    const asked: string[] = []
    const lookup = async (host: string) => {
      asked.push(host)
      return [{ address: '93.184.216.34', family: 4 }]
    }
    const access = await network({ hosts: ['example.com', '*.example.org'], lookup })
    for (const host of [
      'evil.com',
      'example.com.evil.com',
      'notexample.com',
      'example.org',
      'evilexample.org',
    ])
      await expect(access.fetch(`http://${host}/`)).rejects.toMatchObject(denied)
    expect(asked).toEqual([])
  })

  it('gives a tool what it declared and the host lists', async () => {
    const site = await serve()
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const options = { hosts: ['a.test', 'b.test'], allowPrivate: [site.at], lookup }
    const access = await network(options, ['a.test', 'c.test'])
    expect((await access.fetch(`http://a.test:${site.port}/`)).status).toBe(200)
    await expect(access.fetch(`http://b.test:${site.port}/`)).rejects.toMatchObject(denied)
    await expect(access.fetch(`http://c.test:${site.port}/`)).rejects.toMatchObject(denied)
    expect(() => networkBackend({ hosts: [] }).open(['*'], testScope())).toThrow('no network')
  })

  it('supports only http and https', async () => {
    const access = await network({ hosts: ['*'] })
    for (const url of ['file:///etc/passwd', 'ftp://example.com/', 'data:text/plain,x', 'ws://example.com'])
      await expect(access.fetch(url)).rejects.toMatchObject(denied)
    for (const url of [
      'http://user:word@example.com/',
      'http://user@example.com/',
      'http://:word@example.com/',
    ])
      await expect(access.fetch(url), url).rejects.toMatchObject({
        code: 'denied',
        message: 'a URL must not contain a user name or password; send a header instead',
      })
    await expect(access.fetch('not a url')).rejects.toMatchObject({ code: 'execution_failed' })
  })
})

describe('host lists', () => {
  it('support names, subdomains, addresses, ports and *', () => {
    const test = hostTest([
      'example.com',
      '*.example.org',
      'api.test:8443',
      '[::1]:80',
      '10.0.0.1',
      'bücher.example',
    ])
    expect(test('example.com', 80)).toBe(true)
    expect(test('www.example.com', 80)).toBe(false)
    expect(test('a.b.example.org', 443)).toBe(true)
    expect(test('api.test', 8443)).toBe(true)
    expect(test('api.test', 443)).toBe(false)
    expect(test('::1', 80)).toBe(true)
    expect(test('::1', 81)).toBe(false)
    expect(test('10.0.0.1', 1)).toBe(true)
    expect(test('xn--bcher-kva.example', 443)).toBe(true)
    expect(hostTest(['*'])('anything', 1)).toBe(true)
  })

  it('reject invalid entries', () => {
    for (const entry of ['', 'http://example.com', 'a/b', 'ex*mple.com', 'user@example.com', '*.', 'a b'])
      expect(() => hostTest([entry]), entry).toThrow('is not a valid host')
    expect(() => networkBackend({ hosts: ['*'], allowPrivate: ['*'] })).toThrow('whole private network')
  })
})

describe('private addresses', () => {
  it('are denied however they are written', async () => {
    const access = await network({ hosts: ['*'] })
    for (const host of [
      '127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::7f00:1]',
    ])
      await expect(access.fetch(`http://${host}/`), host).rejects.toMatchObject(denied)
    for (const host of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0x7f000001', '134744072', '0'])
      await expect(access.fetch(`http://${host}/`), host).rejects.toMatchObject(denied)
    await expect(access.fetch('http://134744072/8.8.8.8')).rejects.toThrow('is an obfuscated form of')
    await expect(access.fetch(new URL('http://2130706433/'))).rejects.toMatchObject(denied)
    await expect(access.fetch('http://localhost/')).rejects.toMatchObject(denied)
  })

  it('are denied when a name resolves to one, even beside public ones', async () => {
    for (const addresses of [
      ['127.0.0.1'],
      ['93.184.216.34', '10.0.0.1'],
      ['2606:4700::1', '::1'],
      ['fe80::1%lo'],
    ]) {
      const lookup = async () =>
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      const access = await network({ hosts: ['*'], lookup })
      await expect(access.fetch('http://inner.test/')).rejects.toMatchObject(denied)
    }
  })

  it('are allowed by exact address and port', async () => {
    const site = await serve()
    const other = await serve()
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    expect((await access.fetch(site.url)).status).toBe(200)
    await expect(access.fetch(other.url)).rejects.toMatchObject(denied)
    expect(other.requests).toEqual([])
  })

  it('cannot be slipped in between the check and the connection', async () => {
    const site = await serve()
    const answers = ['127.0.0.1', '10.0.0.1']
    // The name resolves only here, so a second lookup while connecting would fail.
    const lookup = async () => [{ address: answers.shift() ?? '10.0.0.2', family: 4 }]
    const access = await network({ hosts: ['rebind.test'], allowPrivate: [site.at], lookup })
    expect((await access.fetch(`http://rebind.test:${site.port}/`)).status).toBe(200)
    expect(answers).toEqual(['10.0.0.1'])
    expect(site.requests[0]?.headers.host).toBe(`rebind.test:${site.port}`)
    await expect(access.fetch(`http://rebind.test:${site.port}/`)).rejects.toMatchObject(denied)
  })
})

describe('redirects', () => {
  it('are checked like a new request', async () => {
    const inner = await serve()
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    for (const location of [
      inner.url,
      `http://localhost:${inner.port}/`,
      `http://inner.test:${inner.port}/`,
      `http://2130706433:${inner.port}/`,
      `http://[::ffff:127.0.0.1]:${inner.port}/`,
      `//127.0.0.1:${inner.port}/`,
      'file:///etc/passwd',
      `http://user:word@127.0.0.1:${inner.port}/`,
    ]) {
      const outer = await serve(redirectTo(location))
      const access = await network({ hosts: ['*'], allowPrivate: [outer.at], lookup })
      await expect(access.fetch(outer.url), location).rejects.toMatchObject(denied)
    }
    expect(inner.requests).toEqual([])
  })

  it('cannot obfuscate an address, not even a public one', async () => {
    const site = await serve(redirectTo('http://134744072/'))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    await expect(access.fetch(site.url)).rejects.toThrow('is an obfuscated form of 8.8.8.8')
  })

  it('are checked against the list of hosts too', async () => {
    const site = await serve(redirectTo('http://elsewhere.test/'))
    const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at] })
    await expect(access.fetch(site.url)).rejects.toMatchObject(denied)
  })

  it('keep credentials within an origin and drop them beyond', async () => {
    const other = await serve()
    const site = await serve((request, response) =>
      redirectTo(request.url === '/' ? '/again' : `${other.url}/there`)(request, response),
    )
    const access = await network({ hosts: ['*'], allowPrivate: [site.at, other.at] })
    const headers = { authorization: 'Bearer t', cookie: 'c=1', 'x-api-key': 'k', accept: 'text/plain' }
    const response = await access.fetch(site.url, { headers })
    expect(response).toMatchObject({ redirected: true, url: `${other.url}/there` })
    expect(site.requests[1]?.headers).toMatchObject(headers)
    expect(other.requests[0]?.headers).toMatchObject({ accept: 'text/plain' })
    for (const name of ['authorization', 'cookie', 'x-api-key'])
      expect(other.requests[0]?.headers).not.toHaveProperty(name)
  })

  it('turn a POST into a GET, unless the status says otherwise', async () => {
    const methods: string[] = []
    for (const status of [301, 302, 303, 307, 308]) {
      const site = await serve((request, response) =>
        request.url === '/' ? redirectTo('/next', status)(request, response) : response.end(),
      )
      const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
      await access.fetch(site.url, { method: 'POST', body: 'data' })
      methods.push(`${site.requests[1]?.method} ${site.requests[1]?.body}`)
    }
    expect(methods).toEqual(['GET ', 'GET ', 'GET ', 'POST data', 'POST data'])
  })

  it('stop after a few, or at once when requested', async () => {
    const site = await serve(redirectTo('/'))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at], maxRedirects: 2 })
    await expect(access.fetch(site.url)).rejects.toThrow('redirects to')
    expect(site.requests).toHaveLength(3)
    expect((await access.fetch(site.url, { redirect: 'manual' })).status).toBe(302)
    site.requests.length = 0
    await expect(access.fetch(site.url, { redirect: 'error' })).rejects.toMatchObject({
      code: 'execution_failed',
      message: `${site.url}/ redirects to /; fetch that URL directly if you need it`,
    })
    expect(site.requests).toHaveLength(1)
  })

  it('are followed five times by default, or never', async () => {
    const site = await serve(redirectTo('/'))
    const five = await network({ hosts: ['*'], allowPrivate: [site.at] })
    await expect(five.fetch(site.url)).rejects.toThrow('redirects to')
    expect(site.requests).toHaveLength(6)
    site.requests.length = 0
    const none = await network({ hosts: ['*'], allowPrivate: [site.at], maxRedirects: 0 })
    await expect(none.fetch(site.url)).rejects.toThrow('redirects to')
    expect(site.requests).toHaveLength(1)
  })

  it('without a location, or with an invalid one, stop there', async () => {
    const mute = await serve((_request, response) => response.writeHead(302).end('stay'))
    const broken = await serve(redirectTo('http://[oops'))
    const access = await network({ hosts: ['*'], allowPrivate: [mute.at, broken.at] })
    expect(await access.fetch(mute.url)).toMatchObject({ status: 302, redirected: false })
    await expect(access.fetch(broken.url)).rejects.toThrow(
      'redirects to "http://[oops", which is not a valid URL',
    )
  })

  it('keep the range header, and the method of a HEAD', async () => {
    const site = await serve((request, response) =>
      request.url === '/' ? redirectTo('/next', 303)(request, response) : response.end(),
    )
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    const response = await access.fetch(`${site.url}/#part`, { method: 'HEAD' })
    expect(response.url).toBe(`${site.url}/next#part`)
    expect(site.requests[1]?.method).toBe('HEAD')
  })

  it('turn a PUT into a GET only when the status says so, and drop the body headers', async () => {
    const seen: string[] = []
    for (const status of [302, 303]) {
      const site = await serve((request, response) =>
        request.url === '/' ? redirectTo('/next', status)(request, response) : response.end(),
      )
      const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
      await access.fetch(site.url, { method: 'PUT', body: 'data', headers: { 'content-language': 'de' } })
      const { method, body, headers } = site.requests[1] ?? {}
      seen.push(`${method} ${body} ${headers?.['content-language']}`)
    }
    expect(seen).toEqual(['PUT data de', 'GET  undefined'])
  })
})

describe('limits', () => {
  it('apply to announced, unannounced and decompressed sizes', async () => {
    const long = 'x'.repeat(5_000)
    const announced = await serve((_request, response) => response.end(long))
    const streamed = await serve((_request, response) => {
      response.write(long.slice(0, 2_500))
      response.end(long.slice(0, 2_500))
    })
    const folded = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(long)),
    )
    for (const site of [announced, streamed, folded]) {
      const small = await network({ hosts: ['*'], allowPrivate: [site.at], maxBytes: 4_999 })
      await expect(small.fetch(site.url)).rejects.toThrow('exceeds the 4999 bytes')
      const enough = await network({ hosts: ['*'], allowPrivate: [site.at], maxBytes: 5_000 })
      expect(await (await enough.fetch(site.url)).text()).toBe(long)
    }
  })

  it('stop a request that takes too long, before or during the response', async () => {
    const silent = await serve(() => undefined)
    const slow = await serve((_request, response) => response.write('first'))
    for (const site of [silent, slow]) {
      const access = await network({ hosts: ['*'], allowPrivate: [site.at], timeoutMs: 150 })
      await expect(access.fetch(site.url)).rejects.toMatchObject({ code: 'timeout' })
    }
    const lookup = () => new Promise<never>(() => undefined)
    const access = await network({ hosts: ['*'], lookup, timeoutMs: 150 })
    await expect(access.fetch('http://nowhere.test')).rejects.toMatchObject({ code: 'timeout' })
  })

  it('stop with the call, or with the signal of the request', async () => {
    const site = await serve(() => controller.abort())
    let controller = new AbortController()
    const options = { hosts: ['*'], allowPrivate: [site.at] }
    const access = await network(options, ['*'], controller.signal)
    await expect(access.fetch(site.url)).rejects.toMatchObject({ code: 'cancelled' })
    await expect(access.fetch(site.url)).rejects.toMatchObject({ code: 'cancelled' })
    expect(site.requests).toHaveLength(1)
    controller = new AbortController()
    const fresh = await network(options)
    await expect(fresh.fetch(site.url, { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
    })
  })
})

describe('requests', () => {
  it('carry every kind of body', async () => {
    const site = await serve()
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    const post = (body: NonNullable<RequestInit['body']>) => access.fetch(site.url, { method: 'POST', body })
    await post('text')
    await post(new URLSearchParams({ a: 'b c' }))
    await post(new TextEncoder().encode('bytes'))
    await post(new Blob(['blob']).stream())
    expect(site.requests.map((request) => request.body)).toEqual(['text', 'a=b+c', 'bytes', 'blob'])
    expect(site.requests[1]?.headers['content-type']).toContain('x-www-form-urlencoded')
    const small = await network({ hosts: ['*'], allowPrivate: [site.at], maxRequestBytes: 3 })
    await expect(small.fetch(site.url, { method: 'POST', body: 'four' })).rejects.toThrow(
      'exceeds the 3 bytes',
    )
  })

  it('cannot select another site or break the framing with headers', async () => {
    const site = await serve()
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    const headers = {
      host: 'inner.test',
      'transfer-encoding': 'chunked',
      connection: 'upgrade',
      'x-mine': '1',
    }
    await access.fetch(site.url, { headers })
    expect(site.requests[0]?.headers).toMatchObject({ host: site.at, 'x-mine': '1' })
    expect(site.requests[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  it('ignore proxy settings in the environment', async () => {
    const proxy = await serve()
    const site = await serve()
    const variables = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, NODE_USE_ENV_PROXY: '1' }
    const before = { ...process.env }
    Object.assign(process.env, variables)
    try {
      const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
      await access.fetch(site.url)
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name]
      Object.assign(process.env, before)
    }
    expect(proxy.requests).toEqual([])
    expect(site.requests).toHaveLength(1)
  })

  it('say why a host cannot be reached', async () => {
    const site = await serve()
    servers.pop()?.close()
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    await expect(access.fetch(site.url)).rejects.toThrow('ECONNREFUSED')
    const nameless = await network({ hosts: ['*'], lookup: async () => [] })
    await expect(nameless.fetch('http://nowhere.test')).rejects.toThrow('has no address')
  })
})

describe('what servers and hosts get wrong', () => {
  it('denies a password in a URL before anything else, and never prints it', async () => {
    const access = await network({ hosts: ['example.com'] })
    const refusal = await access.fetch('https://bob:pa55word@example.com/x').catch((thrown) => thrown)
    expect(refusal).toMatchObject(denied)
    expect(refusal.message).not.toContain('pa55word')
    const broken = await access.fetch('https://bob:pa55word@exa mple.com/x').catch((thrown) => thrown)
    expect(broken.message).toContain('could not be fetched')
  })

  it.each([['bob@'], [':pa55word@'], ['bob:@']])('denies %s in a URL, also in a redirect', async (user) => {
    const reason = 'must not contain a user name or password'
    const direct = await network({ hosts: ['example.com'] })
    await expect(direct.fetch(`https://${user}example.com/x`)).rejects.toThrow(reason)
    const inner = await serve()
    const site = await serve(redirectTo(`http://${user}${inner.at}/`))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at, inner.at] })
    await expect(access.fetch(site.url)).rejects.toMatchObject({
      ...denied,
      message: expect.stringContaining(reason),
    })
    expect(inner.requests).toEqual([])
  })

  it('does not follow a redirect that the caller treats as an error, or follows itself', async () => {
    const inner = await serve()
    const site = await serve(redirectTo(`${inner.url}/`))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at, inner.at] })
    await expect(access.fetch(site.url, { redirect: 'error' })).rejects.toThrow(`redirects to ${inner.url}`)
    const manual = await access.fetch(site.url, { redirect: 'manual' })
    expect([manual.status, manual.headers.get('location')]).toEqual([302, `${inner.url}/`])
    expect(inner.requests).toEqual([])
    expect((await access.fetch(site.url)).redirected).toBe(true)
    expect(inner.requests).toHaveLength(1)
  })

  it('does not print the password of a redirect', async () => {
    const site = await serve(redirectTo('https://bob:pa55word@example.com/x'))
    const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at], maxRedirects: 0 })
    const failed = await access.fetch(site.url).catch((thrown) => thrown)
    expect(failed.message).toContain('redirects to https://example.com/x')
  })

  it('reads deflate with and without its header', async () => {
    const text = 'hello '.repeat(5_000)
    for (const body of [deflateSync(text), deflateRawSync(text)]) {
      const site = await serve((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'deflate' }).end(body)
      })
      const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at] })
      expect(await (await access.fetch(site.url)).text()).toBe(text)
    }
  })

  it('reads brotli, counts its decompressed size, and rejects what is damaged or cut short', async () => {
    const text = 'hello '.repeat(5_000)
    const bodies = {
      '/whole': brotliCompressSync(text),
      '/bomb': brotliCompressSync(Buffer.alloc(2_000_000), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
      }),
      '/cut': brotliCompressSync(text).subarray(0, 10),
      '/damaged': Buffer.from('not brotli at all, but long enough to be read'),
    }
    const site = await serve((request, response) => {
      const body = bodies[request.url as keyof typeof bodies]
      response.writeHead(200, { 'content-encoding': 'br' }).end(body)
    })
    const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at], maxBytes: 100_000 })
    const whole = await access.fetch(`${site.url}/whole`)
    expect([await whole.text(), whole.headers.get('content-encoding')]).toEqual([text, null])
    expect(site.requests[0]?.headers['accept-encoding']).toBe('gzip, deflate, br')
    await expect(access.fetch(`${site.url}/bomb`)).rejects.toThrow('exceeds the 100000 bytes')
    for (const path of ['/cut', '/damaged'])
      await expect(access.fetch(`${site.url}${path}`)).rejects.toMatchObject({
        code: 'execution_failed',
        message: expect.stringContaining('could not be fetched'),
      })
  })

  it('counts the decompressed size of deflate', async () => {
    const site = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateRawSync('x'.repeat(500_000)))
    })
    const access = await network({ hosts: ['127.0.0.1'], allowPrivate: [site.at], maxBytes: 100_000 })
    await expect(access.fetch(site.url)).rejects.toMatchObject({ code: 'execution_failed' })
  })

  it('rejects unknown options', () => {
    expect(() => networkBackend({ hosts: [], allowprivate: ['x'] } as never)).toThrow(
      'did you mean "allowPrivate"?',
    )
    expect(() => networkBackend({} as never)).toThrow('networkBackend() needs the option "hosts"')
    expect(() => networkBackend({ hosts: '*' } as never)).toThrow(
      'hosts is "*"; it must be an array of strings',
    )
  })

  it('rejects limits beyond the range of a timer', () => {
    for (const timeoutMs of [Number.POSITIVE_INFINITY, Number.NaN, 0, -1, 2 ** 40]) {
      expect(() => networkBackend({ hosts: ['*'], timeoutMs })).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
    }
  })
})

describe('what a refusal says', () => {
  const resolved = async () => [{ address: '127.0.0.1', family: 4 }]

  it('is which hosts are granted: those the tool declared, or those of the host for *', async () => {
    const options = { hosts: ['a.test', 'b.test'], lookup: resolved }
    const any = await network(options)
    await expect(any.fetch('http://c.test:81/')).rejects.toThrow(
      'c.test:81 may not be reached; granted: a.test, b.test',
    )
    const few = await network(options, ['a.test'])
    await expect(few.fetch('http://b.test/')).rejects.toThrow('b.test may not be reached; granted: a.test')
  })

  it('is that a tool which declared nothing, or a host that lists nothing, has no access', () => {
    const none = {
      code: 'denied',
      message: 'the host grants t no network access; add hosts to networkBackend',
    }
    const scope = testScope({ tool: 't' })
    expect(() => networkBackend({ hosts: ['*'] }).open([], scope)).toThrow(expect.objectContaining(none))
    expect(() => networkBackend({ hosts: [] }).open(['*'], scope)).toThrow(expect.objectContaining(none))
    expect(() => networkBackend({ hosts: ['*'], allowPrivate: ['*'] })).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  })

  it('names the scheme, the private address or the missing one', async () => {
    const access = await network({ hosts: ['*'], lookup: resolved })
    await expect(access.fetch('ftp://example.com/')).rejects.toThrow(
      'ftp: URLs are not supported; use http or https',
    )
    await expect(access.fetch('http://inner.test/')).rejects.toThrow(
      'inner.test resolves to the private address 127.0.0.1; only the host can allow that, with allowPrivate',
    )
    await expect(access.fetch('http://10.0.0.7/')).rejects.toThrow('the private address 10.0.0.7;')
    const nameless = await network({ hosts: ['*'], lookup: async () => [] })
    await expect(nameless.fetch('http://nowhere.test')).rejects.toMatchObject({
      code: 'execution_failed',
      message: 'nowhere.test has no address; check the host name',
    })
  })

  it('names the URL and the limit of a request that took too long or was cancelled', async () => {
    const lookup = () => new Promise<never>(() => undefined)
    const slow = await network({ hosts: ['*'], lookup, timeoutMs: 20 })
    await expect(slow.fetch('http://nowhere.test/a@b')).rejects.toThrow(
      'http://nowhere.test/a@b did not respond within 20 ms; try again later or use another URL',
    )
    const controller = new AbortController()
    const access = await network({ hosts: ['*'], lookup })
    const fetching = access.fetch('http://nowhere.test/', { signal: controller.signal })
    controller.abort()
    await expect(fetching).rejects.toThrow('the request to http://nowhere.test/ was cancelled')
  })

  it('has the reason of every address that was tried, and the cause', async () => {
    const site = await serve()
    servers.pop()?.close()
    const lookup = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]
    const access = await network({ hosts: ['*'], allowPrivate: ['two.test'], lookup })
    const failure = await access.fetch(`http://two.test:${site.port}/`).then(
      () => undefined,
      (error: unknown) => error,
    )
    const both = `: connect ECONNREFUSED 127\\.0\\.0\\.1:${site.port}; connect E[A-Z]+ ::1:${site.port}`
    expect(failure).toMatchObject({
      code: 'execution_failed',
      message: expect.stringMatching(both),
      cause: expect.any(AggregateError),
    })
  })

  it('never has the password of a redirect without a scheme', async () => {
    const site = await serve(redirectTo('//bob:pa55word@other.test/'))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    await expect(access.fetch(site.url, { redirect: 'error' })).rejects.toThrow(
      `${site.url}/ redirects to //other.test/; fetch that URL directly`,
    )
    const broken = await serve(redirectTo('http://[oops'))
    const strict = await network({ hosts: ['*'], allowPrivate: [broken.at] })
    await expect(strict.fetch(broken.url)).rejects.toMatchObject({ code: 'execution_failed' })
  })
})

describe('what is sent and received', () => {
  it('has headers that say who asks, and a body only where there is one', async () => {
    const site = await serve()
    const access = await network({ hosts: ['*'], allowPrivate: [site.at], maxRequestBytes: 4 })
    await access.fetch(site.url)
    const [plain] = site.requests
    expect(plain?.headers).toMatchObject({ 'user-agent': 'toolcrib', accept: '*/*' })
    expect(plain?.headers).not.toHaveProperty('content-length')
    await access.fetch(site.url, { method: 'POST', body: 'four' })
    expect(site.requests[1]?.headers['content-length']).toBe('4')
    await expect(access.fetch(site.url, { method: 'POST', body: 'fiver' })).rejects.toMatchObject({
      code: 'execution_failed',
    })
  })

  it.each([[204], [205], [304], [200]])('may be nothing, with status %i', async (status) => {
    const site = await serve((_request, response) => response.writeHead(status).end())
    const access = await network({ hosts: ['*'], allowPrivate: [site.at] })
    const response = await access.fetch(site.url)
    expect(response).toMatchObject({ status, body: null })
  })

  it('goes to an address as it is, without a lookup, also with spaces around it', async () => {
    const site = await serve()
    const lookup = async () => {
      throw new Error('addresses need no lookup')
    }
    const access = await network({ hosts: ['*'], allowPrivate: [site.at], lookup })
    expect((await access.fetch(` ${site.url}/ `)).status).toBe(200)
  })

  it('goes where a redirect leads, without a scheme too, with its own fragment and the other headers', async () => {
    const other = await serve()
    const site = await serve(redirectTo(`//${other.at}/next#own`))
    const access = await network({ hosts: ['*'], allowPrivate: [site.at, other.at] })
    const response = await access.fetch(`${site.url}/#first`)
    expect(response.url).toBe(`${other.url}/next#own`)
    const within = await serve((request, response) =>
      request.url === '/' ? redirectTo('/next')(request, response) : response.end(),
    )
    const same = await network({ hosts: ['*'], allowPrivate: [within.at] })
    await same.fetch(within.url, { method: 'POST', body: 'data', headers: { 'x-mine': '1' } })
    expect(within.requests[1]).toMatchObject({ method: 'GET', body: '', headers: { 'x-mine': '1' } })
    expect(within.requests[1]?.headers).not.toHaveProperty('content-type')
  })

  it('is nothing when the call is cancelled while its body is read', async () => {
    const controller = new AbortController()
    const lookup = () => new Promise<never>(() => undefined)
    const access = await network({ hosts: ['*'], lookup }, ['*'], controller.signal)
    const body = new ReadableStream({
      pull(stream) {
        controller.abort()
        stream.close()
      },
    })
    await expect(access.fetch('http://nowhere.test/', { method: 'POST', body })).rejects.toMatchObject({
      code: 'cancelled',
    })
  })
})

describe('secure connections', () => {
  let folder: string
  let url: string
  const server = createSecureServer((_request, response) => response.end('secret'))

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolcrib-tls-'))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    await run('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=secure.test'],
      ...['-addext', 'subjectAltName=DNS:secure.test', '-keyout', key, '-out', cert],
    ])
    server.setSecureContext({ key: await readFile(key), cert: await readFile(cert) })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `https://secure.test:${(server.address() as AddressInfo).port}/`
  })
  afterAll(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })

  it('are refused when nobody vouches for the certificate', async () => {
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const access = await network({ hosts: ['*'], allowPrivate: ['secure.test'], lookup })
    await expect(access.fetch(url)).rejects.toMatchObject({
      code: 'execution_failed',
      message: expect.stringMatching(/could not be fetched: .*self.signed/),
    })
  })

  it('are made with the name of the host, whatever address it has', async () => {
    // Only a new process reads whom to trust.
    const program = `
      import { networkBackend } from ${JSON.stringify(pathToFileURL(join(inject('programs'), 'capabilities.js')).href)}
      const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
      const backend = networkBackend({ hosts: ['*'], allowPrivate: ['secure.test', 'other.test'], lookup })
      const access = await backend.open(['*'], { tool: 't', signal: new AbortController().signal })
      for (const url of process.argv.slice(1))
        console.log(await access.fetch(url).then((response) => response.text(), ({ message }) => message))
    `
    const urls = [url, url.replace('secure.test', 'other.test')]
    const args = ['--input-type=module', '-e', program, ...urls]
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') }
    const { stdout } = await run(process.execPath, args, { env })
    const [right, wrong] = stdout.split('\n')
    expect(right).toBe('secret')
    expect(wrong).toContain("does not match certificate's altnames")
  })
})

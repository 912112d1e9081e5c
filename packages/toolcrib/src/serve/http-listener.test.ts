import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type HttpListener, listen } from './http-listener.ts'

const LOCAL = { host: '127.0.0.1', port: 0 }

describe('the HTTP listener', () => {
  it('passes requests and answers on as they are', async () => {
    const listener = await listen(async (received) => {
      const body = await received.text()
      const echoed = {
        method: received.method,
        url: received.url,
        name: received.headers.get('x-name'),
        body,
      }
      return Response.json(echoed, { status: 201, headers: { 'x-more': 'yes' } })
    }, LOCAL)
    const url = `${listener.origin}/mcp?x=1`
    const response = await fetch(url, { method: 'POST', headers: { 'x-name': 'value' }, body: 'hello' })
    expect(response.status).toBe(201)
    expect(response.headers.get('x-more')).toBe('yes')
    expect(await response.json()).toEqual({ method: 'POST', url, name: 'value', body: 'hello' })
    await listener.close({ graceMs: 0 })
  })

  it('refuses requests that do not say plainly where they go', async () => {
    const seen: string[] = []
    const listener = await listen(async ({ url }) => {
      seen.push(url)
      return new Response('')
    }, LOCAL)
    const { port, host } = new URL(listener.origin)
    const statusOf = async (target: string, version = 'HTTP/1.1', headers = `Host: ${host}\r\n`) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(`GET ${target} ${version}\r\n${headers}Connection: close\r\n\r\n`)
      return (await text(socket)).split('\r\n', 1)[0]
    }
    for (const target of ['http://evil.example/', '*', '/\\..\\..\\package.json'])
      expect(await statusOf(target)).toBe('HTTP/1.1 400 Bad Request')
    expect(await statusOf('/', 'HTTP/1.0', '')).toBe('HTTP/1.1 400 Bad Request')
    for (const odd of ['me@localhost', 'localhost/path', 'localhost:port', '[::1', 'a b'])
      expect(await statusOf('/', 'HTTP/1.1', `Host: ${odd}\r\n`)).toBe('HTTP/1.1 400 Bad Request')
    expect(seen).toEqual([])
    expect(await statusOf('/')).toBe('HTTP/1.1 200 OK')
    await listener.close({ graceMs: 0 })
  })

  it('sends a stream piece by piece', async () => {
    let push = (_text: string) => {}
    const stream = new ReadableStream({
      start: (controller) => {
        push = (text) => controller.enqueue(new TextEncoder().encode(text))
      },
    })
    const listener = await listen(async () => new Response(stream), LOCAL)
    const response = await fetch(listener.origin)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    push('one')
    expect((await reader?.read())?.value).toBe('one')
    push('two')
    expect((await reader?.read())?.value).toBe('two')
    await reader?.cancel()
    await listener.close({ graceMs: 0 })
  })

  it('aborts the request of a client that goes away', async () => {
    let aborted = new Promise<unknown>(() => {})
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const listener = await listen(async ({ signal }) => {
      aborted = once(signal, 'abort')
      arrive()
      await aborted
      return new Response()
    }, LOCAL)
    const sent = request(listener.origin, { method: 'POST' })
    sent.on('error', () => {})
    sent.end('{}')
    await arrived
    sent.destroy()
    await aborted
    await listener.close({ graceMs: 0 })
  })

  it('hides what went wrong in a handler', async () => {
    const listener = await listen(() => Promise.reject(new Error('a secret')), LOCAL)
    const response = await fetch(listener.origin)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('internal error\n')
    await listener.close({ graceMs: 0 })
  })

  it('lets requests in flight finish when it closes, and soon accepts no more', async () => {
    let answer = (_response: Response) => {}
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const listener = await listen(async ({ url }) => {
      if (url.endsWith('/late')) return new Response('late')
      arrive()
      return new Promise<Response>((resolve) => {
        answer = resolve
      })
    }, LOCAL)
    const pending = fetch(listener.origin)
    await arrived
    const closed = listener.close({ graceMs: 60_000 })
    const isRefused = () =>
      fetch(`${listener.origin}/late`).then(
        () => false,
        () => true,
      )
    await vi.waitUntil(isRefused, { timeout: 15_000 })
    answer(new Response('done'))
    expect(await (await pending).text()).toBe('done')
    await closed
  })

  it('answers new connections while it lingers, and ends each of them', async () => {
    const listener = await listen(async () => new Response('here'), LOCAL)
    // Nobody is connected after this, but somebody was lately.
    await (await fetch(listener.origin, { headers: { connection: 'close' } })).text()
    let isStopped = false
    const stopping = listener.stopAccepting({ lingerMs: 700 }).then(() => {
      isStopped = true
    })
    const endings: (string | null)[] = []
    await vi.waitUntil(async () => {
      const response = await fetch(listener.origin).catch(() => undefined)
      if (response) endings.push(response.headers.get('connection'))
      return response === undefined || isStopped
    })
    expect(endings.length).toBeGreaterThan(1)
    expect(endings.at(-1)).toBe('close')
    await stopping
    await expect(fetch(listener.origin)).rejects.toThrow()
    await listener.close({ graceMs: 0 })
  })

  it('does not linger when nobody was there', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const listener = await listen(async () => new Response(), LOCAL)
    // No time passes here, so that any pause would be endless.
    await listener.stopAccepting({ lingerMs: 60_000 })
    await listener.close({ graceMs: 0 })
  })

  it('does not wait for connections that nothing was sent over', async () => {
    const listener = await listen(async () => new Response(), LOCAL)
    const socket = connect(portOf(listener), '127.0.0.1')
    await once(socket, 'connect')
    const ended = once(socket, 'close')
    socket.resume()
    await listener.close({ graceMs: 60_000 })
    await ended
  })

  it('closes streams that do not end when the time is up', async () => {
    const listener = await listen(async () => new Response(new ReadableStream()), LOCAL)
    const socket = connect(portOf(listener), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(socket, 'data')
    const ended = once(socket, 'close')
    await listener.close({ graceMs: 1 })
    await ended
  })

  it('says what to do when the port is taken', async () => {
    const listener = await listen(async () => new Response(), LOCAL)
    const taken = { host: '127.0.0.1', port: portOf(listener) }
    await expect(listen(async () => new Response(), taken)).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining(
        `port ${taken.port} of 127.0.0.1 is taken; choose another with --port`,
      ),
    })
    await listener.close({ graceMs: 0 })
  })
})

function portOf({ origin }: HttpListener): number {
  return Number(new URL(origin).port)
}

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type EventStream, MAX_UNREAD_BYTES, parseBody } from './exchange.ts'
import { FetchExchange } from './fetch-exchange.ts'
import { NodeExchange } from './node-exchange.ts'

const MEGABYTE = 'x'.repeat(1024 * 1024)
/** What the system's socket buffers may take on top, with room to spare. */
const PLENTY = (MAX_UNREAD_BYTES / MEGABYTE.length) * 6

/** Sends a megabyte at a time, until the stream is closed. */
async function flood(stream: EventStream): Promise<number> {
  let sent = 0
  for (; stream.isOpen && sent < PLENTY; sent++) {
    stream.send(MEGABYTE)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return sent
}

describe('a body with many keys', () => {
  it.each([
    ['keys', '{"a":1,"b":2,"c":3}', 4],
    ['nested objects', '{"a":{"b":{}}}', 5],
    ['lists', '[[],[[]]]', 4],
    ['keys that repeat', '[{"a":1},{"a":1}]', 5],
    ['none in strings', '["{[:", "\\"{[:", "\\\\", {"a\\":{": 1}]', 3],
    ['numbers', '[1,2,3,4,5,6,7,8,9]', 1],
    ['a text', '"just a text that is longer than the limit"', 0],
  ])('counts %s', (_, text, count) => {
    expect(parseBody(text, { maxBodyKeys: Math.max(1, count) })).toEqual({
      kind: 'json',
      value: JSON.parse(text),
      characters: text.length,
    })
    if (count > 1) expect(parseBody(text, { maxBodyKeys: count - 1 })).toEqual({ kind: 'too-many-keys' })
  })

  it('may have ten times as many items, and no more', () => {
    const listOf = (items: number) => `[${'1,'.repeat(items - 1)}1]`
    expect(parseBody(listOf(21), { maxBodyKeys: 2 }).kind).toBe('json')
    expect(parseBody(listOf(22), { maxBodyKeys: 2 })).toEqual({ kind: 'too-many-keys' })
    expect(parseBody(`["${','.repeat(100)}"]`, { maxBodyKeys: 2 }).kind).toBe('json')
  })

  it('is not parsed, and not read any further than the limit', () => {
    const read: number[] = []
    const text = Object.assign(new String('{"a":1,"b":2,"c":3,'.padEnd(1_000, ' ')), {
      charCodeAt: (at: number) => {
        read.push(at)
        return '{"a":1,"b":2,"c":3,'.charCodeAt(at)
      },
    })
    expect(parseBody(text as unknown as string, { maxBodyKeys: 2 })).toEqual({ kind: 'too-many-keys' })
    expect(Math.max(...read)).toBe(10)
  })

  it('has no limit at 0, and is invalid where it is not JSON', () => {
    expect(parseBody('[[],[],[],[]]', { maxBodyKeys: 0 }).kind).toBe('json')
    for (const text of ['"', '"\\', '{"a":"', '[['])
      expect(parseBody(text.padStart(10), { maxBodyKeys: 5 })).toEqual({ kind: 'invalid' })
  })
})

describe('a stream of events', () => {
  it('over node:http is closed when its client leaves too much unread', async () => {
    let opened: (stream: EventStream) => void = () => {}
    const opening = new Promise<EventStream>((resolve) => {
      opened = resolve
    })
    const server = createServer((request, response) =>
      opened(new NodeExchange(request, response, () => () => {}).openStream({})),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const stream = await opening
    let isClosed = false
    stream.onClose(() => {
      isClosed = true
    })
    expect(await flood(stream)).toBeLessThan(PLENTY)
    await expect.poll(() => isClosed).toBe(true)
  })

  it('of a fetch handler is closed when nobody reads it', async () => {
    const exchange = new FetchExchange(new Request('http://localhost/mcp'))
    const stream = exchange.openStream({})
    expect(await flood(stream)).toBeLessThanOrEqual(MAX_UNREAD_BYTES / MEGABYTE.length + 1)
    await expect((await exchange.response).text()).rejects.toThrow('reads too slowly')
  })

  it('of a fetch handler may have one message of any size', async () => {
    const exchange = new FetchExchange(new Request('http://localhost/mcp'))
    const stream = exchange.openStream({})
    stream.send(MEGABYTE.repeat(10))
    stream.end()
    expect(await (await exchange.response).text()).toHaveLength(10 * MEGABYTE.length)
  })
})

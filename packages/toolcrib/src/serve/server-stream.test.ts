import { Duplex, PassThrough } from 'node:stream'
import type { ConnectedServers } from '@toolcrib/mcp'
import { expect, it, vi } from 'vitest'
import { LogBook } from './log-book.ts'
import { ServerStream } from './server-stream.ts'

it('logs how calls of a command end, and nothing about its other requests', async () => {
  const answers: Record<string, () => Promise<Record<string, unknown>>> = {
    fine: async () => ({ content: [] }),
    refused: async () => ({ content: [], isError: true }),
    broken: () => Promise.reject(new Error('the server is gone')),
    asking: async () => ({ resultType: 'input_required' }),
  }
  const request: ConnectedServers['request'] = (_server, { params }, { signal } = {}) =>
    answers[String(params?.name)]?.() ??
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const readable = new PassThrough()
  const stream = Duplex.from({ readable, writable: new PassThrough().resume() })
  const logs = new LogBook()
  const running = new ServerStream({ request } as ConnectedServers, { server: 'files', stream, logs }).run()
  const send = (id: number, method: string, name: string) =>
    readable.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { name } })}\n`)
  for (const [id, name] of [...Object.keys(answers), 'endless'].entries()) send(id, 'tools/call', name)
  send(9, 'prompts/get', 'fine')
  await vi.waitUntil(() => logs.lines().length === 3)
  readable.end()
  await running
  await vi.waitUntil(() => logs.lines().length === 4)
  const shown = logs.lines().map(({ level, server, message }) => `${level} ${server} ${message}`)
  expect(shown.map((line) => line.replace(/, \d+ ms$/, ''))).toEqual([
    'info files call files.fine: ok',
    'warn files call files.refused: execution_failed',
    'warn files call files.broken: execution_failed',
    'warn files call files.endless: cancelled',
  ])
})

// An HTTP API and a skill behind one search: the model finds both, loads one and calls the other.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ToolRegistry } from 'toolcrib'
import { registerOpenApi } from 'toolcrib/openapi'

const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: request.url?.split('/').at(-1), state: 'paid' }))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
const document = {
  openapi: '3.1.0',
  paths: {
    '/invoices/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getInvoice', summary: 'Get an invoice with its state' },
      delete: { operationId: 'deleteInvoice', summary: 'Delete an invoice' },
    },
  },
}
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
registerOpenApi(registry, document, { api: 'billing', baseUrl, deny: ['DELETE /*'] })
registry.registerSkill({
  name: 'dunning',
  description: 'Remind a customer of an invoice that was not paid.',
  load: () => 'Look up the state of the invoice first. Stay polite.',
})

const session = await registry.openSession()
const call = async (name: string, args: object) => {
  const [answer] = await session.execute([{ toolCallId: '1', name, args }])
  assert(answer?.result.ok, JSON.stringify(answer?.result))
  return answer.result
}

const { structured } = await call('tool_search', { query: 'remind a customer of an unpaid invoice' })
const { matches } = structured as { matches: { kind: string; name: string }[] }
assert.deepEqual(
  matches.map(({ kind, name }) => [kind, name]),
  [
    ['skill', 'dunning'],
    ['tool', 'openapi__billing__getInvoice'],
  ],
)
assert.match((await call('load_skill', { name: 'dunning' })).value, /Stay polite/)
assert.equal((await call('billing.getInvoice', { id: 'A7' })).value, '{"id":"A7","state":"paid"}')
console.log('found the skill and the operation, and called it')
server.close()

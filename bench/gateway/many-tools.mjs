// A server with many tools, whose names and descriptions are made of common words. `node many-tools.mjs 2600`
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const VERBS = ['create', 'list', 'update', 'delete', 'search', 'send', 'export', 'import', 'archive', 'count']
const OBJECTS = [
  'invoice',
  'issue',
  'message',
  'file',
  'customer',
  'order',
  'event',
  'report',
  'branch',
  'page',
  'user',
  'team',
  'label',
]
const PLACES = [
  'archive',
  'board',
  'calendar',
  'drive',
  'forum',
  'inbox',
  'ledger',
  'market',
  'project',
  'queue',
  'shop',
  'store',
  'table',
  'tracker',
  'vault',
  'wiki',
  'yard',
  'zone',
  'desk',
  'lab',
]

const count = Number(process.argv[2] ?? 2_600)
const tools = Array.from({ length: count }, (_, at) => {
  const verb = VERBS[at % VERBS.length]
  const object = OBJECTS[Math.floor(at / VERBS.length) % OBJECTS.length]
  const place = PLACES[Math.floor(at / (VERBS.length * OBJECTS.length)) % PLACES.length]
  return {
    name: `${place}_${verb}_${object}_${at}`,
    description: `Can ${verb} one ${object} or many in the ${place}, with filters by name, date and owner.`,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string' }, limit: { type: 'number' }, owner: { type: 'string' } },
    },
  }
})

const server = new Server({ name: 'many', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/list', async () => ({ tools }))
server.setRequestHandler('tools/call', async ({ params }) => ({
  content: [{ type: 'text', text: params.name }],
}))
await server.connect(new StdioServerTransport())

// A server with many tools, whose names and descriptions are made of common words: `node many-tools.mjs 2600`. With descriptions
// of a length, and a list that changes every so often: `node many-tools.mjs 2600 700 200`
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

/** A message must not be too long. */
const PAGE = 5_000
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

const [count = 2_600, characters = 0, changeMs = 0] = process.argv.slice(2).map(Number)
let version = 0
const listTools = () =>
  Array.from({ length: count }, (_, at) => {
    const verb = VERBS[at % VERBS.length]
    const object = OBJECTS[Math.floor(at / VERBS.length) % OBJECTS.length]
    const place = PLACES[Math.floor(at / (VERBS.length * OBJECTS.length)) % PLACES.length]
    const sentence = `Can ${verb} one ${object} or many in the ${place}, with filters by name, date and owner.`
    const times = Math.max(1, Math.ceil(characters / sentence.length))
    const text = Array.from({ length: times }, (_, nth) =>
      nth === 0 ? sentence : `${sentence} ${at % (nth * 97)}`,
    )
    return {
      name: `${place}_${verb}_${object}_${at}`,
      description: version === 0 ? text.join(' ') : `${text.join(' ')} ${version}`,
      inputSchema: {
        type: 'object',
        properties: { id: { type: 'string' }, limit: { type: 'number' }, owner: { type: 'string' } },
      },
    }
  })

const server = new Server(
  { name: 'many', version: '1.0.0' },
  { capabilities: { tools: { listChanged: true } } },
)
server.setRequestHandler('tools/list', async ({ params }) => {
  const from = Number(params?.cursor ?? 0)
  const isLast = from + PAGE >= count
  return {
    tools: listTools().slice(from, from + PAGE),
    ...(isLast ? {} : { nextCursor: String(from + PAGE) }),
  }
})
server.setRequestHandler('tools/call', async ({ params }) => ({
  content: [{ type: 'text', text: params.name }],
}))
await server.connect(new StdioServerTransport())
if (changeMs > 0)
  setInterval(() => {
    version++
    void server.notification({ method: 'notifications/tools/list_changed' })
  }, changeMs)

// A server over stdio with two tools: `echo` returns its text after a random delay, `seen` says how many different texts
// came, and how many came more than once.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const MAX_DELAY_MS = 20
const texts = new Map()
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }

const server = new Server({ name: 'delaying', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/list', async () => ({
  tools: [
    { name: 'echo', description: 'Returns its text after a while.', inputSchema },
    { name: 'seen', description: 'Counts the texts.', inputSchema: { type: 'object' } },
  ],
}))
server.setRequestHandler('tools/call', async ({ params }) => {
  if (params.name === 'seen') {
    const repeated = [...texts.values()].filter((count) => count > 1).length
    return { content: [{ type: 'text', text: JSON.stringify({ different: texts.size, repeated }) }] }
  }
  const { text } = params.arguments
  texts.set(text, (texts.get(text) ?? 0) + 1)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_DELAY_MS))
  return { content: [{ type: 'text', text }] }
})
await server.connect(new StdioServerTransport())

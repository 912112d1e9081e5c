// An MCP server over stdio with one tool, `echo`, which repeats a nonce and notes it in the file named on the command line.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [file = ''] = process.argv.slice(2)
const properties = { nonce: { type: 'string' } }
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1' },
  }),
  'tools/list': () => ({
    tools: [{ name: 'echo', description: 'Repeats a nonce.', inputSchema: { type: 'object', properties } }],
  }),
  'tools/call': (params) => {
    appendFileSync(file, `${params.arguments.nonce}\n`)
    return { content: [{ type: 'text', text: params.arguments.nonce }] }
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id !== undefined) send({ id, result: answers[method]?.(params ?? {}) ?? {} })
})

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

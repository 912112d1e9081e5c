// What the suite starts for each scenario: `node relay.mjs CLIENTS URL`. The clients of upstream-client.ts do the work.
const [clients = '', url = ''] = process.argv.slice(2)
const { MCP_CONFORMANCE_PROTOCOL_VERSION, MCP_CONFORMANCE_CONTEXT } = process.env
const response = await fetch(clients, {
  method: 'POST',
  body: JSON.stringify({
    url,
    revision: MCP_CONFORMANCE_PROTOCOL_VERSION,
    context: MCP_CONFORMANCE_CONTEXT ? JSON.parse(MCP_CONFORMANCE_CONTEXT) : {},
  }),
})
console.log(await response.text())

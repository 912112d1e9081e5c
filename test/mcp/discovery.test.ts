import { createServer } from 'node:http'
import { ToolRegistry } from 'toolcrib'
import { SignIns } from 'toolcrib/inspector'
import { connectServers } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { expect, it, onTestFinished } from 'vitest'
import { listening } from '../gateway.fixture.ts'

/** A server that requires authorization, and names an address of its choice for it. */
async function demandingServer() {
  const asked: string[] = []
  const elsewhere = createServer(({ method, url }, response) => {
    asked.push(`${method} ${url}`)
    response.writeHead(404).end()
  })
  const address = await listening(elsewhere)
  const demand = `Bearer resource_metadata="${address}/.well-known/oauth-protected-resource"`
  const server = createServer((_, response) => {
    response.writeHead(401, { 'www-authenticate': demand }).end()
  })
  onTestFinished(() => {
    server.close()
    elsewhere.close()
  })
  return { url: `${await listening(server)}/mcp`, asked }
}

it('a server that requires a sign-in makes nobody send requests to addresses of its choice before a person asks for it', async () => {
  const { url, asked } = await demandingServer()
  const signIns = new SignIns({ origin: 'http://127.0.0.1:7117' })
  const servers = connectServers(
    new ToolRegistry(),
    { mcpServers: { vault: { url } } },
    { oauth: signIns.oauth },
  )
  onTestFinished(() => servers.close())
  expect(await servers.ready()).toMatchObject([
    { state: 'failed', needs: 'sign-in', reason: expect.stringContaining('nobody has signed in yet') },
  ])
  expect(asked).toEqual([])
  const begun = signIns.begin('vault').catch((error) => error)
  await servers.request('vault', { method: 'ping' }).catch(() => {})
  expect(asked.length).toBeGreaterThan(0)
  signIns.close()
  await begun
})

it('nor does a program that only uses stored tokens', async () => {
  const { url, asked } = await demandingServer()
  const servers = connectServers(
    new ToolRegistry(),
    { mcpServers: { vault: { url } } },
    { oauth: { store: memoryStore() } },
  )
  onTestFinished(() => servers.close())
  expect(await servers.ready()).toMatchObject([
    { state: 'failed', reason: expect.stringContaining('pass oauth.authorize') },
  ])
  expect(asked).toEqual([])
})

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it, vi } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { referenceServer, script } from './mcp/reference-servers.fixture.ts'

const EVERYTHING = script(referenceServer('everything'))
const CHANGING = new URL('./fixtures/changing-server.mjs', import.meta.url).pathname
const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: {} }
const PATIENCE = { timeout: 15_000 }

/** A client of the older era that can be asked something, and the notifications that it gets. */
async function connectAskable(gateway: Parameters<typeof connectClient>[0]) {
  const client = await connectClient(gateway, { era: 'legacy', capabilities: CAPABILITIES })
  client.setRequestHandler('roots/list', async () => ({ roots: [] }))
  const notified: string[] = []
  for (const list of ['tools', 'resources', 'prompts'] as const)
    client.setNotificationHandler(`notifications/${list}/list_changed`, ({ method }) => {
      notified.push(method)
    })
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    notified.push(params.uri)
  })
  return { client, notified }
}

async function urisOf(client: Client): Promise<readonly string[]> {
  return (await client.listResources()).resources.map(({ uri }) => uri)
}

describe('a client with connections of its own', () => {
  it('lists, reads and is notified of what its own session at a server has, and nobody else does', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING }, { askingServers: ['everything'] })
    const [ada, bob] = [await connectAskable(gateway), await connectAskable(gateway)]
    const before = await urisOf(ada.client)
    const zipped = { name: 'note.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' }
    await ada.client.callTool({ name: 'everything__gzip-file-as-resource', arguments: zipped })
    await vi.waitFor(() => expect(ada.notified).toContain('notifications/resources/list_changed'), PATIENCE)
    const uri = 'demo://resource/session/note.gz'
    expect(await urisOf(ada.client)).toEqual([...before, uri])
    expect(await ada.client.readResource({ uri })).toMatchObject({ contents: [{ uri }] })
    expect(await urisOf(bob.client)).toEqual(before)
    await expect(bob.client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 })
  })

  it('is notified of a resource that it watches, over that connection', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING }, { askingServers: ['everything'] })
    const [ada, bob] = [await connectAskable(gateway), await connectAskable(gateway)]
    const uri = 'demo://resource/dynamic/text/1'
    await ada.client.subscribeResource({ uri })
    await bob.client.subscribeResource({ uri })
    await ada.client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    await vi.waitFor(() => expect(ada.notified).toContain(uri), PATIENCE)
    expect(bob.notified).not.toContain(uri)
  })

  it('learns of tools that a server adds, though only its own connection reports them', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'toolcrib-')), 'tools.json')
    const tool = (name: string) => ({ name, description: '', inputSchema: { type: 'object' } })
    writeFileSync(file, JSON.stringify([tool('announce')]))
    const changing = { command: process.execPath, args: [CHANGING, file] }
    const { gateway } = await openGateway({ changing }, { askingServers: ['changing'], mode: 'full' })
    const ada = await connectAskable(gateway)
    await ada.client.listTools()
    writeFileSync(file, JSON.stringify([tool('announce'), tool('late')]))
    await ada.client.callTool({ name: 'changing__announce', arguments: {} })
    await vi.waitFor(() => expect(ada.notified).toContain('notifications/tools/list_changed'), PATIENCE)
    const { tools } = await ada.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['changing__announce', 'changing__late'])
  })
})

describe('clients of a server that asks for roots when it starts', () => {
  /** A gateway whose server has asked, the clients of either era, and how many processes they get. */
  async function openAsked(people: number, rootsOf: (person: number) => string) {
    const { gateway, servers } = await openGateway({ everything: EVERYTHING })
    let processes = 0
    const openSession = servers.openSession.bind(servers)
    servers.openSession = (...given) => {
      processes++
      openSession(...given)
    }
    const clients = await Promise.all(
      Array.from({ length: people }, async (_, at) => {
        const era = at % 2 === 0 ? ('modern' as const) : ('legacy' as const)
        const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
        client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file://${rootsOf(at)}` }] }))
        return client
      }),
    )
    // The server asks a moment after it has started.
    await vi.waitUntil(async () => {
      await callAll(clients.slice(0, 1), 'everything__echo', { message: 'hello' })
      return processes > 0
    }, PATIENCE)
    return { clients, processes: () => processes }
  }

  const callAll = (clients: readonly Client[], name: string, args: object) =>
    Promise.all(clients.map((client) => client.callTool({ name, arguments: { ...args } })))

  it('share one process if they have the same roots, whichever era they speak', async () => {
    const { clients, processes } = await openAsked(6, () => '/home/all')
    const answers = await callAll([...clients, ...clients], 'everything__get-roots-list', {})
    for (const answer of answers) expect(JSON.stringify(answer)).toContain('/home/all')
    expect(processes()).toBe(1)
  })

  it('have one process for each roots, however often they call', async () => {
    const { clients, processes } = await openAsked(4, (person) => `/home/${person}`)
    for (let round = 0; round < 2; round++) {
      const answers = await callAll([...clients, ...clients], 'everything__get-roots-list', {})
      for (const [at, answer] of answers.entries())
        expect(JSON.stringify(answer).match(/home\/\d/g)).toEqual([`home/${at % clients.length}`])
    }
    expect(processes()).toBe(4)
  })

  it('use another process once their roots have changed', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING })
    const capabilities = { roots: { listChanged: true } }
    const client = await connectClient(gateway, { era: 'legacy', capabilities })
    let roots = '/home/before'
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file://${roots}` }] }))
    const read = async () => {
      const [answer] = await callAll([client], 'everything__get-roots-list', {})
      return JSON.stringify(answer)
    }
    await vi.waitUntil(async () => (await read()).includes('/home/before'), PATIENCE)
    roots = '/home/after'
    await client.sendRootsListChanged()
    await vi.waitUntil(async () => (await read()).includes('/home/after'), PATIENCE)
  })
})

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

import { defineTool, ToolRegistry } from '@toolcrib/core'
import { connectServers } from '@toolcrib/mcp'
import { memoryStore } from '@toolcrib/mcp/stores'
import { expect, it } from 'vitest'
import { createInspector } from '../inspector.ts'
import type { ConnectedClient } from '../inspector-options.ts'
import { aliasOf } from '../record/session-log.ts'

it('names the client and the profile of each miss, also after a restart', async () => {
  const store = memoryStore()
  const first = open(store, [
    { ...CLIENT, session: aliasOf('a'), name: 'an editor', profile: 'reader' },
    { ...CLIENT, session: aliasOf('b'), name: 'an assistant' },
  ])
  await first.miss('a', 'qwxzy')
  await first.miss('a', 'qwxzy')
  await first.miss('b', 'qwxzy')
  await first.miss('nobody knows this one', 'vvkkq')
  const reader = { client: 'an editor', profile: 'reader' }
  const expected = [
    { text: 'vvkkq', times: 1, by: [] },
    { text: 'qwxzy', times: 3, by: [reader, { client: 'an assistant', profile: null }] },
  ]
  expect(byText(await first.misses())).toMatchObject(byText(expected))
  await first.close()

  const second = open(store, [])
  expect(byText(await second.misses())).toMatchObject(byText(expected))
  await second.close()
})

it('shows misses of older records, which name no session', async () => {
  const store = memoryStore()
  await store.set('inspector:activity', { misses: [{ at: 1, what: 'search', text: 'qwxzy' }] })
  const { misses, close } = open(store, [])
  expect(await misses()).toEqual([{ text: 'qwxzy', what: 'search', at: 1, times: 1, by: [] }])
  await close()
})

const CLIENT: Omit<ConnectedClient, 'session'> = {
  id: '1',
  name: undefined,
  version: '7',
  token: 'default',
  profile: undefined,
  era: 'modern',
  transport: 'http',
  since: 0,
  lastSeenAt: 0,
  requests: 1,
  calls: 0,
  failedCalls: 0,
}

function open(store: ReturnType<typeof memoryStore>, clients: readonly ConnectedClient[]) {
  const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
  registry.register(
    defineTool({ name: 'add', description: 'Adds.', inputSchema: { type: 'object' }, execute: () => '3' }),
  )
  const servers = connectServers(registry, { mcpServers: {} })
  const access = { check: async () => ({}), checkAddress: () => undefined }
  const inspector = createInspector({ registry, servers, access, store, gateway: { clients: () => clients } })
  return {
    miss: async (id: string, query: string) => {
      const session = await registry.openSession({ id })
      session.surface()
      await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query } }])
    },
    misses: async () => {
      const headers = { 'x-toolcrib-page': '1' }
      const response = await inspector.fetch(new Request('http://localhost/api/misses', { headers }))
      return response.json()
    },
    close: async () => {
      await inspector.close()
      await servers.close()
    },
  }
}

/** Misses of one millisecond have no order. */
function byText(rows: readonly { readonly text: string }[]) {
  return rows.toSorted((first, second) => first.text.localeCompare(second.text))
}

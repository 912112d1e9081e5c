import { describe, expect, it } from 'vitest'
import {
  defineTool,
  hybrid,
  memoryStore,
  type Policy,
  ToolRegistry,
  usageMemory,
} from '../packages/core/src/index.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'

const TOOLS: readonly (readonly [name: string, description: string])[] = [
  ['post_update', 'Publishes a status update on the company board'],
  ['send_mail', 'Sends an email message to a person'],
  ['send_chat', 'Sends a chat message to a person'],
  ['read_mail', 'Reads email messages of the inbox'],
  ['create_event', 'Creates an event in the calendar'],
  ['list_events', 'Lists events of the calendar'],
  ['resize_image', 'Resizes an image file'],
  ['play_music', 'Plays a song on the speakers'],
  ['search_web', 'Searches the web for pages'],
]

async function open(policy: Policy = {}, given = usageMemory({ store: memoryStore() })) {
  const registry = new ToolRegistry({
    mode: 'lazy',
    defer: 'all',
    searcher: hybrid({ embedder: staticEmbedder() }),
    memory: given,
  })
  for (const [name, description] of TOOLS)
    registry.register(
      defineTool({
        name,
        description,
        inputSchema: { type: 'object', properties: { fail: { type: 'boolean' } } },
        execute: ({ fail }: { fail?: boolean }) => (fail ? new Error('it failed') : 'done'),
      }),
    )
  const session = await registry.openSession({ policy })
  const call = async (name: string, args: object = {}) => {
    const [answer] = await session.execute([{ toolCallId: '1', name, args }])
    return answer?.result
  }
  const search = (query: string) => call('tool_search', { query })
  return { registry, session, call, search, memory: given }
}

describe('what a session teaches memory', () => {
  it('is a call that succeeded after a search that returned its tool', async () => {
    const { session, registry, call, search, memory } = await open()
    await search('tell everybody that we moved the office')
    await call('post_update')
    await session.close()
    expect(await memory.episodes()).toMatchObject([{ tool: 'post_update', source: 'builtin', count: 1 }])
    const { matches } = await registry.search('tell everybody we have moved')
    const found = matches.find(({ name }) => name === 'post_update')
    expect(found?.reasons).toContain('served a similar request before')
  })

  it('puts a tool first that served a similar request in an earlier session', async () => {
    const memory = usageMemory({ store: memoryStore() })
    const first = await open({}, memory)
    const ranked = async () => {
      const { matches } = await first.registry.search('send a message to Ann', { limit: 8 })
      return matches.map(({ name }) => name)
    }
    const [best = '', second = ''] = await ranked()
    for (let time = 0; time < 3; time++) {
      const { session, call, search } = await open({}, memory)
      await search('send Bob a message')
      await call(second)
      await session.close()
    }
    expect((await ranked()).slice(0, 2)).toEqual([second, best])
  })

  it('is nothing else: no failed call, no dry run, no call without a search, no search alone', async () => {
    const { session, call, search, memory } = await open()
    await call('send_mail')
    await search('send an email to Ann')
    await call('send_mail', { fail: true })
    await session.execute([{ toolCallId: '2', name: 'send_mail', args: {} }], { dryRun: true })
    await call('resize_image')
    await session.close()
    expect(await memory.episodes()).toEqual([])
  })

  it('is learned once for each search', async () => {
    const { session, call, search, memory } = await open()
    await search('send an email to Ann')
    await call('send_mail')
    await call('send_mail')
    await session.close()
    expect(await memory.episodes()).toMatchObject([{ tool: 'send_mail', count: 1 }])
  })

  it('has no influence under another policy', async () => {
    const { session, call, search, memory } = await open()
    await search('tell everybody that we moved the office')
    await call('post_update')
    await session.close()
    const other = await open({ deny: ['play_music'] }, memory)
    const { matches } = await other.session.search('tell everybody we have moved', { limit: 8 })
    const reasons = matches.flatMap((match) => match.reasons)
    expect(matches.length).toBeGreaterThan(0)
    expect(reasons).not.toContain('served a similar request before')
    // Neither a hidden meta-tool nor a filter of nothing makes it another policy.
    for (const policy of [{ deny: ['read_result'] }, { filter: {} }]) {
      const same = await (await open(policy, memory)).session.search('tell everybody we have moved', {
        limit: 8,
      })
      expect(same.matches.flatMap((match) => match.reasons)).toContain('served a similar request before')
    }
  })

  it('never breaks a search or a call when the store fails', async () => {
    const store = memoryStore()
    const { session, registry, call, search } = await open({}, usageMemory({ store }))
    await store.close()
    const events: string[] = []
    registry.subscribe(({ type }) => events.push(type))
    expect(await search('send an email to Ann')).toMatchObject({ ok: true })
    expect(await call('send_mail')).toMatchObject({ ok: true })
    await session.close()
    expect(events).toEqual(expect.arrayContaining(['load-failed', 'save-failed']))
  })
})

describe('a second search for the same thing', () => {
  const namesOf = (result: unknown, key = 'matches') =>
    ((result as { structured: Record<string, ({ name: string } | string)[]> }).structured[key] ?? []).map(
      (match) => (typeof match === 'string' ? match : match.name),
    )

  it('in other words returns what the first did not, and names what it did', async () => {
    const { search, call } = await open()
    const first = await call('tool_search', { query: 'send an email message to somebody', limit: 2 })
    const second = await search('email a message to a person')
    expect(namesOf(first)).toContain('send_mail')
    expect(namesOf(second)).toContain('read_mail')
    // What the first did not load may be named again.
    for (const name of namesOf(second)) expect(namesOf(first, 'activated')).not.toContain(name)
    expect(namesOf(second, 'already_found')).toContain('send_mail')
  })

  it('in the same words, for another thing, or after its tool was used, returns whatever fits', async () => {
    const { search, call } = await open()
    const first = namesOf(await search('send an email message to somebody'))
    expect(namesOf(await search('Send an email message to somebody!'))).toEqual(first)
    expect(namesOf(await search('create a calendar event'))).toContain('create_event')
    await call('send_mail')
    expect(namesOf(await search('email a message to a person'))).toContain('send_mail')
  })

  it('returns whatever fits in a session that several conversations share', async () => {
    const { registry } = await open()
    const session = await registry.openSession({ searchAgain: 'all' })
    const search = async (query: string) =>
      (await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query } }]))[0]?.result
    await search('send an email message to somebody')
    expect(namesOf(await search('email a message to a person'))).toContain('send_mail')
  })

  it('returns a tool again that was evicted in between', async () => {
    const { registry } = await open()
    const session = await registry.openSession({ maxActive: 2 })
    const search = async (query: string, limit: number) =>
      (await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query, limit } }]))[0]?.result
    expect(namesOf(await search('send an email message to somebody', 1))).toEqual(['send_mail'])
    await session.activate(['play_music', 'resize_image'])
    expect(session.isActive('send_mail')).toBe(false)
    expect(namesOf(await search('email a message to a person', 1))).toEqual(['send_mail'])
  })
})

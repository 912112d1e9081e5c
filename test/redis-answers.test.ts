import type { Gateway } from 'toolcrib/gateway'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { type Announcements, watchStore } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { referenceServer, script } from './mcp/reference-servers.fixture.ts'
import { RedisServer } from './redis-server.ts'

const SERVERS = { everything: script(referenceServer('everything')) }
const SAMPLE = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
const PATIENCE = { patienceMs: 300 }

describe.skipIf(inject('redisUrl') === undefined)('the answer of a client, while Redis is away,', () => {
  async function openReplicas(...flags: string[]) {
    const redis = await RedisServer.start(...flags)
    onTestFinished(() => redis.close())
    const open = async () => {
      const store = watchStore(redisStore({ url: redis.url, ...PATIENCE }), { ...PATIENCE, probeMs: 100 })
      const real = redisAnnouncements({ url: redis.url, ...PATIENCE })
      onTestFinished(async () => {
        await Promise.all([store.close(), real.close()])
      })
      const announcements = new CountedAnnouncements(real)
      const { gateway } = await openGateway(SERVERS, { store, announcements }, { store })
      return { gateway, announcements }
    }
    const [first, second] = await Promise.all([open(), open()])
    return { redis, first, second }
  }

  /** A client that calls at one gateway, and says what it is asked to another, where Redis has just gone away. */
  async function answerElsewhere(
    era: 'legacy' | 'modern',
    { redis, first, second }: Awaited<ReturnType<typeof openReplicas>>,
  ) {
    let current: Gateway = second.gateway
    const client = await connectClient(
      { fetch: (request) => current.fetch(request) },
      { era, capabilities: { sampling: {} } },
    )
    // Both know the client.
    await client.listTools()
    current = first.gateway
    client.setRequestHandler('sampling/createMessage', async () => {
      await redis.kill()
      current = second.gateway
      return { model: 'm', role: 'assistant', content: { type: 'text', text: 'ada says hello' } }
    })
    const calling = client.callTool(SAMPLE)
    calling.catch(() => {})
    return { client, calling }
  }

  it.each([
    { era: 'legacy', kept: 'its data' },
    { era: 'legacy', kept: 'nothing' },
    { era: 'modern', kept: 'its data' },
    { era: 'modern', kept: 'nothing' },
  ] as const)(
    'reaches the $era call that waits elsewhere, when Redis is back with $kept',
    async ({ era, kept }) => {
      const flags = kept === 'nothing' ? [] : ['--appendonly', 'yes', '--appendfsync', 'always']
      const replicas = await openReplicas(...flags)
      const { calling } = await answerElsewhere(era, replicas)
      await replicas.second.announcements.failed(2)
      await replicas.redis.start()
      expect(JSON.stringify(await calling)).toContain('ada says hello')
    },
  )
})

/** Announcements of which the ones that fail are counted. */
class CountedAnnouncements implements Announcements {
  readonly #real: Announcements
  #failures = 0
  #wake = () => {}

  constructor(real: Announcements) {
    this.#real = real
  }

  async publish(...said: Parameters<Announcements['publish']>): Promise<void> {
    try {
      await this.#real.publish(...said)
    } catch (error) {
      this.#failures++
      this.#wake()
      throw error
    }
  }

  subscribe(...args: Parameters<Announcements['subscribe']>): () => void {
    return this.#real.subscribe(...args)
  }

  noteAlive(...args: Parameters<Announcements['noteAlive']>): Promise<boolean> {
    return this.#real.noteAlive(...args)
  }

  alive(): Promise<readonly string[]> {
    return this.#real.alive()
  }

  close(): Promise<void> {
    return this.#real.close()
  }

  /** Resolves once so many could not be sent. */
  async failed(times: number): Promise<void> {
    while (this.#failures < times)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
  }
}

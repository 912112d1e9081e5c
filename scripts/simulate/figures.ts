import { Network, SimClient } from './sim-client.ts'
import { SimRedis } from './sim-redis.ts'
import { SimReplica } from './sim-replica.ts'
import { Deeds, TOPICS } from './sim-server.ts'
import { World } from './world.ts'

const SESSIONS = 40
const REPLICAS = 4
/** One conversation: what a client does in it, and how long it takes. */
const CONVERSATION = { lists: 2, searches: 3, calls: 20, minutes: 30 }

/** What Redis is asked for by one conversation, by command; clients stay at one replica, or go to any. */
export async function printFigures(): Promise<void> {
  for (const isSticky of [true, false]) {
    const { commands, idle } = await measure(isSticky)
    console.log(
      `\nclients ${isSticky ? 'stay at one replica' : 'go to any replica each time'}: per conversation of ${JSON.stringify(CONVERSATION)}`,
    )
    console.log('| command | operations | bytes in | bytes out |\n|---|---:|---:|---:|')
    let [operations, bytes] = [0, 0]
    for (const [name, { count, sent, received }] of commands) {
      operations += count
      bytes += sent + received
      console.log(
        `| ${name} | ${(count / SESSIONS).toFixed(1)} | ${Math.round(sent / SESSIONS)} | ${Math.round(received / SESSIONS)} |`,
      )
    }
    const perSecond = operations / SESSIONS / (CONVERSATION.minutes * 60)
    const bytesPerSecond = bytes / SESSIONS / (CONVERSATION.minutes * 60)
    console.log(
      `per session and second: ${perSecond.toFixed(4)} operations, ${bytesPerSecond.toFixed(1)} bytes`,
    )
    console.log(
      `a million sessions: ${Math.round(perSecond * 1e6)} operations/s, ${Math.round(bytesPerSecond)} MB/s; stored: ${idle.toFixed(0)} bytes each`,
    )
  }
}

async function measure(isSticky: boolean) {
  const world = new World(1)
  world.install()
  try {
    const redis = new SimRedis(world)
    const network = new Network(world)
    const start = (name: string) =>
      new SimReplica(world, redis, new Deeds(), { name, maxActive: 24, breaks: 0 })
    network.replicas = Array.from({ length: REPLICAS }, (_, at) => start(`replica-${at}`))
    let isDone = false
    let stored = 0
    const work = async () => {
      await world.sleep(5_000)
      redis.counts.clear()
      const before = redis.size
      for (let session = 0; session < SESSIONS; session++) {
        const client = new SimClient(world, network, { label: `c${session}`, who: 'ada', era: 'legacy' })
        if (isSticky) network.only = network.replicas[session % REPLICAS]
        await converse(client, world)
      }
      // What the replicas do by themselves is theirs, not the sessions'.
      redis.counts.delete('XREAD')
      redis.counts.delete('XREVRANGE')
      stored = (redis.size - before) / SESSIONS
      isDone = true
    }
    const working = work()
    await world.run(
      () => isDone,
      () => {},
    )
    await working
    return { commands: [...redis.counts].sort(([a], [b]) => (a < b ? -1 : 1)), idle: stored }
  } finally {
    world.uninstall()
  }
}

async function converse(client: SimClient, world: World): Promise<void> {
  const { lists, searches, calls } = CONVERSATION
  await client.connect()
  for (let list = 0; list < lists; list++) await client.request('tools/list', {})
  const call = (name: string, given: object) => client.request('tools/call', { name, arguments: given })
  for (let search = 0; search < searches; search++)
    await call('tool_search', { query: `find a ${TOPICS[search]}`, limit: 2 })
  for (let number = 0; number < calls; number++) await call('sim__echo', { nonce: `${world.newId()}` })
}

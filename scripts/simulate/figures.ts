import { Network, SimClient } from './sim-client.ts'
import { SimRedis } from './sim-redis.ts'
import { SimReplica } from './sim-replica.ts'
import { SimServers, TOPICS } from './sim-server.ts'
import { World } from './world.ts'

const SESSIONS = 40
const REPLICAS = 4
/** What the figures are for: they grow with the sessions, and what replicas do by themselves with their number. */
const FLEET = { replicas: 1_000, sessions: 1_000_000 }
const IDLE_MINUTES = 10
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
    const { sessions } = FLEET
    console.log(
      `${sessions} sessions: ${Math.round(perSecond * sessions)} operations/s, ${Math.round((bytesPerSecond * sessions) / 1e6)} MB/s; stored: ${idle.toFixed(0)} bytes each`,
    )
  }
  const { operations, bytes } = await measureIdle()
  const { replicas, sessions } = FLEET
  const [perSecond, bytesPerSecond] = [operations * replicas, bytes * replicas]
  console.log(
    `\na replica without clients: ${operations.toFixed(2)} operations/s, ${bytes.toFixed(1)} bytes/s`,
  )
  console.log(
    `${replicas} replicas: ${perSecond.toFixed(0)} operations/s, ${(bytesPerSecond / 1e3).toFixed(0)} KB/s; shared by ${sessions} sessions: ${(perSecond / sessions).toFixed(5)} operations and ${(bytesPerSecond / sessions).toFixed(2)} bytes per session and second`,
  )
}

/** What one replica asks of Redis in a second while no client does anything. */
async function measureIdle(): Promise<{ readonly operations: number; readonly bytes: number }> {
  const world = new World(1)
  world.install()
  try {
    const redis = new SimRedis(world)
    for (let at = 0; at < REPLICAS; at++)
      new SimReplica(world, redis, new SimServers(), { name: `replica-${at}`, maxActive: 24, breaks: 0 })
    let isDone = false
    const measuring = (async () => {
      await world.sleep(60_000)
      redis.counts.clear()
      await world.sleep(IDLE_MINUTES * 60_000)
      isDone = true
    })()
    await world.run(
      () => isDone,
      () => {},
    )
    await measuring
    const seconds = IDLE_MINUTES * 60 * REPLICAS
    const counts = [...redis.counts.values()]
    return {
      operations: counts.reduce((sum, { count }) => sum + count, 0) / seconds,
      bytes: counts.reduce((sum, { sent, received }) => sum + sent + received, 0) / seconds,
    }
  } finally {
    world.uninstall()
  }
}

async function measure(isSticky: boolean) {
  const world = new World(1)
  world.install()
  try {
    const redis = new SimRedis(world)
    const network = new Network(world)
    const start = (name: string) =>
      new SimReplica(world, redis, new SimServers(), { name, maxActive: 24, breaks: 0 })
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
      redis.counts.delete('EVALSHA (note alive)')
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

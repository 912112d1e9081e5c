// Real gateways on one Redis, some of them killed at random (--kill), restarted one after the other (--roll), or held up for
// some seconds, a gateway or Redis (--stall):
//   npm run build && npm run replicas -- [--replicas 3] [--sessions 5000] [--calls 10] [--clients 64] [--kill] [--roll] [--stall]
//     [--proxy nginx|caddy] [--linger 3]
// With --proxy, clients send everything once, to nginx or Caddy with the config of examples/replicas; without it, to any gateway,
// and to another one after a 503 or where no connection is accepted, which is counted (unavailable, refused).
// Needs redis-server. Exits with 1 when a call was lost, doubled or misrouted, and behind a proxy when a session was not opened.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { RedisServer } from '../../test/redis-server.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { runLoad } from './load.ts'

const { values } = parseArgs({
  options: {
    cli: { type: 'string', default: 'packages/toolcrib/dist/main.js' },
    replicas: { type: 'string', default: '3' },
    sessions: { type: 'string', default: '5000' },
    calls: { type: 'string', default: '10' },
    clients: { type: 'string', default: '64' },
    kill: { type: 'boolean', default: false },
    roll: { type: 'boolean', default: false },
    stall: { type: 'boolean', default: false },
    proxy: { type: 'string' },
    linger: { type: 'string' },
  },
})

const { proxy, linger } = values
if (proxy !== undefined && proxy !== 'nginx' && proxy !== 'caddy')
  throw new Error('--proxy is nginx or caddy')

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

async function killOne(replicas: readonly GatewayProcess[]): Promise<void> {
  await pause(1_000 + Math.random() * 2_000)
  const replica = replicas[Math.floor(Math.random() * replicas.length)]
  await replica?.kill()
  await replica?.start()
}

let exits = 0
async function restartAll(replicas: readonly GatewayProcess[]): Promise<void> {
  for (const replica of replicas) {
    await pause(1_000)
    const code = await replica.stop()
    if (code !== 0) console.log(`a gateway ended with ${code} after SIGTERM`)
    exits++
    await replica.start()
  }
}

const redis = await RedisServer.start()
async function holdUp(replicas: readonly GatewayProcess[]): Promise<void> {
  await pause(1_000 + Math.random() * 2_000)
  const held = [redis, ...replicas][Math.floor(Math.random() * (replicas.length + 1))]
  held?.signal('SIGSTOP')
  await pause(3_000)
  held?.signal('SIGCONT')
}

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-load-'))
try {
  const disturb = values.kill ? killOne : values.roll ? restartAll : values.stall ? holdUp : undefined
  const report = await runLoad({
    cli: join(process.cwd(), values.cli),
    folder,
    store: redis.url,
    replicas: Number(values.replicas),
    sessions: Number(values.sessions),
    callsPerSession: Number(values.calls),
    clients: Number(values.clients),
    proxy,
    flags: linger === undefined ? [] : ['--linger', linger],
    ...(disturb ? { disturb } : {}),
  })
  console.log(
    JSON.stringify(
      { ...report, callsPerSecond: Math.round(report.calls / report.seconds), restarts: exits },
      null,
      2,
    ),
  )
  const { lost, misrouted, doubled, invented, forgotten, unopened } = report
  if (lost + misrouted + doubled + invented + forgotten + unopened > 0) process.exitCode = 1
} finally {
  await redis.close()
  rmSync(folder, { recursive: true, force: true })
}

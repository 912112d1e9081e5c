// Do clients of one gateway ever get each other's answers, and does its memory stay flat? 200 clients make 500 calls each,
// all with the same ids, over the same connection to a server that answers out of order. And what do clients cost that a
// server asks questions? `npm run bench -- gateway-clients`
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureAskingClients } from './gateway/asking-clients.ts'
import { type Connection, connect } from './gateway/bare-client.ts'
import { buildGateway } from './gateway/build-gateway.ts'
import { type Contender, startToolcrib } from './gateway/contenders.ts'
import { residentMegabytes } from './gateway/measures.ts'
import { printTable } from './report.ts'

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  buildGateway()
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  const script = join(import.meta.dirname, 'gateway', 'delaying-echo.mjs')
  const servers = { delaying: { command: process.execPath, args: [script] } }
  const gateway = await startToolcrib({ folder, servers, flags: ['--mode', 'full'] })
  try {
    await measure(gateway, smoke ? { clients: 10, calls: 20 } : { clients: 200, calls: 500 })
  } finally {
    await gateway.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  if (smoke) await measureAskingClients(['modern'], { clients: 3, calls: 2 })
  else await measureAskingClients(['legacy', 'modern'], { clients: 40, calls: 10 })
}

async function measure(
  gateway: Contender,
  { clients, calls }: { readonly clients: number; readonly calls: number },
): Promise<void> {
  const first = await connect(gateway.endpoint)
  await ready(first)
  const startedAt = performance.now()
  const rows: Record<string, string | number>[] = []
  let wrong = 0
  let failed = 0
  // Rounds of new clients: what a client leaves behind shows as growth.
  const rounds = 5
  for (let round = 0; round < rounds; round++) {
    const working = Array.from({ length: clients }, async (_, client) => {
      const connection = await connect(gateway.endpoint)
      for (let call = 0; call < calls / rounds; call++) {
        const text = `${round}/${client}/${call}`
        try {
          if ((await echo(connection, text)) !== text) wrong++
        } catch {
          failed++
        }
      }
      await connection.close()
    })
    await Promise.all(working)
    rows.push({ round: round + 1, 'resident MB': Math.round(residentMegabytes(gateway.pid)) })
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const seen = JSON.parse(
    textOf(await first.request('tools/call', { name: 'delaying__seen', arguments: {} })),
  )
  const total = clients * rounds * Math.floor(calls / rounds)
  console.log(`gateway-clients: ${clients} clients, ${total.toLocaleString('en-US')} calls, equal ids`)
  console.log(
    `  ${total + 1 - seen.different} lost, ${seen.repeated} doubled, ${wrong} misrouted, ${failed} failed; ${Math.round(total / seconds)} calls/s`,
  )
  printTable(rows)
  await first.close()
}

/** Waits until the server runs. */
async function ready(connection: Connection): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await echo(connection, 'warm up')
      return
    } catch (error) {
      if (tries === 30) throw error
    }
  }
}

async function echo(connection: Connection, text: string): Promise<string> {
  return textOf(await connection.request('tools/call', { name: 'delaying__echo', arguments: { text } }))
}

function textOf({ content }: Record<string, unknown>): string {
  const [block] = content as [{ text: string }]
  return block.text
}

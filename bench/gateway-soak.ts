// Does the memory of a gateway stay flat over an hour of use? Rounds of everything that clients do: sessions that are opened
// and left behind, lists, searches, calls, calls of unknown tools, requests that are refused. `npm run bench -- gateway-soak`
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from './gateway/bare-client.ts'
import { buildGateway } from './gateway/build-gateway.ts'
import { type Contender, startToolcrib } from './gateway/contenders.ts'
import { residentMegabytes } from './gateway/measures.ts'

/** A person makes a few calls a minute: each round is about an hour of five people. */
const ROUNDS = 12
const CLIENTS_PER_ROUND = 20
const STEPS = 10

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  buildGateway()
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  const scripts = join(import.meta.dirname, 'gateway')
  const servers = {
    delaying: { command: process.execPath, args: [join(scripts, 'delaying-echo.mjs')] },
    many: { command: process.execPath, args: [join(scripts, 'many-tools.mjs'), '500'] },
  }
  const gateway = await startToolcrib({ folder, servers, flags: ['--mode', 'lazy'] })
  try {
    await soak(gateway, smoke ? { rounds: 2, clients: 5 } : { rounds: ROUNDS, clients: CLIENTS_PER_ROUND })
  } finally {
    await gateway.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function soak(
  gateway: Contender,
  { rounds, clients }: { readonly rounds: number; readonly clients: number },
): Promise<void> {
  const rows: Record<string, string | number>[] = []
  let failed = 0
  for (let round = 0; round < rounds; round++) {
    const working = Array.from({ length: clients }, (_, client) =>
      useGateway(gateway, `${round}/${client}`).catch(() => {
        failed++
      }),
    )
    await Promise.all(working)
    const megabytes = Math.round(residentMegabytes(gateway.pid))
    console.log(`gateway-soak: round ${round + 1} of ${rounds}, ${megabytes} MB`)
    rows.push({ round: round + 1, 'resident MB': megabytes })
  }
  const requests = rounds * clients * STEPS * 5
  console.log(
    `gateway-soak: ${(rounds * clients).toLocaleString('en-US')} clients, about ${requests.toLocaleString('en-US')} requests, ${failed} clients failed`,
  )
  // Each takes about 45 kB until it has been idle for a day, or 2,000 are open.
  console.log(`  ${Math.ceil(clients / 10) * rounds} of their sessions were left open`)
  // What is loaded and compiled once is there after the first third.
  const third = Math.floor(rounds / 3)
  const [early, late] = [rows.at(third), rows.at(-1)].map((row) => Number(row?.['resident MB']))
  console.log(`  from round ${third + 1} to ${rounds}: ${early} MB to ${late} MB`)
}

/** One client. A few of them never end their session. */
async function useGateway({ endpoint }: Contender, name: string): Promise<void> {
  const connection = await connect(endpoint)
  for (let step = 0; step < STEPS; step++) {
    await connection.request('tools/list', {})
    await connection.request('tools/call', {
      name: 'tool_search',
      arguments: { query: `send ${name} ${step}` },
    })
    const call = { name: 'delaying__echo', arguments: { text: `${name}/${step}` } }
    await connection.request('tools/call', call)
    await connection.request('tools/call', { name: 'no_such_tool', arguments: {} }).catch(() => {})
    await refused(endpoint.url)
  }
  if (!name.endsWith('1')) await connection.close()
}

/** A stranger without a token. */
function refused(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST' }, (response) => response.resume().once('end', resolve))
      .once('error', reject)
      .end('{}')
  })
}

import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { printTable, ratio } from '../report.ts'
import { type Contender, EVERYTHING, startToolcrib } from './contenders.ts'

type Era = 'legacy' | 'modern'

interface Setup {
  readonly era: Era
  /** What the clients can be asked for. */
  readonly capabilities: Readonly<Record<string, object>>
  /** The roots of each client. */
  readonly rootsOf: (client: number) => string
  /** Whether a tool asked one of them something before. */
  readonly hasAsked?: boolean
}

const ASKABLE = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } }
const SETUPS: Readonly<Record<string, Omit<Setup, 'era'>>> = {
  'cannot be asked': { capabilities: {}, rootsOf: () => '' },
  'equal roots': { capabilities: ASKABLE, rootsOf: () => '/home/all' },
  'own roots': { capabilities: ASKABLE, rootsOf: (client) => `/home/${client}` },
  'own roots, sampled': { capabilities: ASKABLE, rootsOf: (client) => `/home/${client}`, hasAsked: true },
}

/** Many clients call a server at once that asks for roots when it starts: how many processes, and how long? */
export async function measureAskingClients(
  eras: readonly Era[],
  size: { readonly clients: number; readonly calls: number },
): Promise<void> {
  const { clients, calls } = size
  console.log(`gateway-clients: ${clients} clients × ${calls} parallel calls of a server that asks for roots`)
  const rows: Record<string, string | number>[] = []
  for (const era of eras) {
    let never: Awaited<ReturnType<typeof measureSetup>> | undefined
    for (const [name, setup] of Object.entries(SETUPS)) {
      const measured = await measureSetup({ era, ...setup }, size)
      never ??= measured
      const { processes, firstMs, nextMs, wrong, failed } = measured
      rows.push({
        era,
        clients: name,
        processes,
        'per client': ((processes - 1) / clients).toFixed(2),
        'first round ms': Math.round(firstMs),
        'next round ms': Math.round(nextMs),
        'to never asked': ratio(nextMs, never.nextMs),
        wrong,
        failed,
      })
    }
  }
  printTable(rows)
}

async function measureSetup(setup: Setup, { clients, calls }: { clients: number; calls: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  const gateway = await startToolcrib({
    folder,
    servers: { everything: EVERYTHING },
    flags: ['--mode', 'full'],
  })
  let opened: readonly Client[] = []
  try {
    // The server is up, and has asked for roots.
    const [first] = await openClients(gateway, setup, 1)
    await untilAsked(first)
    if (setup.hasAsked) await first?.callTool(SAMPLE)
    const transport = first?.transport
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
    await first?.close()
    opened = await openClients(gateway, setup, clients)
    let processes = 0
    let wrong = 0
    let failed = 0
    const count = setInterval(() => {
      processes = Math.max(processes, childrenOf(gateway.pid))
    }, 50)
    const round = async () => {
      const startedAt = performance.now()
      const answers = opened.flatMap((client, at) =>
        Array.from({ length: calls }, async (_, number) => {
          const message = `${at}/${number}`
          const call = { name: 'everything__echo', arguments: { message } }
          const answer = await client.callTool(call).catch(() => undefined)
          if (!answer) failed++
          else if (!JSON.stringify(answer.content).includes(`Echo: ${message}"`)) wrong++
        }),
      )
      await Promise.all(answers)
      return performance.now() - startedAt
    }
    const firstMs = await round()
    const nextMs = ((await round()) + (await round())) / 2
    clearInterval(count)
    return { processes, firstMs, nextMs, wrong, failed }
  } finally {
    await Promise.all(opened.map((client) => client.close()))
    await gateway.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

const SAMPLE = {
  name: 'everything__trigger-sampling-request',
  arguments: { prompt: 'hi', maxTokens: 9 },
}

async function untilAsked(client: Client | undefined): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await client?.callTool({ name: 'everything__echo', arguments: { message: 'ready?' } })
      break
    } catch (error) {
      if (tries === 30) throw error
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 2_000))
}

function openClients(gateway: Contender, setup: Setup, count: number): Promise<readonly Client[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => openClient(gateway, setup, at)))
}

async function openClient({ endpoint }: Contender, setup: Setup, at: number): Promise<Client> {
  const { era, capabilities, rootsOf } = setup
  const client = new Client(
    { name: `client ${at}`, version: '1' },
    { capabilities, versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  )
  if (capabilities.roots)
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file://${rootsOf(at)}` }] }))
  if (capabilities.sampling)
    client.setRequestHandler('sampling/createMessage', async () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'hello' },
    }))
  const requestInit = { headers: { ...endpoint.headers } }
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint.url), { requestInit }))
  return client
}

/** How many processes a process has started that still run. */
function childrenOf(pid: number): number {
  const parents = readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${Number(name)}/stat`, 'utf8')
      return [Number(stat.slice(stat.lastIndexOf(')') + 1).split(' ')[2])]
    } catch {
      return []
    }
  })
  return parents.filter((parent) => parent === pid).length
}

// How long does a command take to start, compared with Node.js itself, and a gateway until its first list? Processor times
// say more where other programs run. `npm run bench -- start`
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildGateway } from './gateway/build-gateway.ts'
import { ENVIRONMENT } from './gateway/contenders.ts'
import { medianOf, remember, type StartTimes, timeFirstList } from './gateway/first-list.ts'
import { printTable } from './report.ts'

const MAIN = join(import.meta.dirname, '..', 'packages', 'toolcrib', 'dist', 'main.js')
const PRELOAD = join(import.meta.dirname, 'gateway', 'report-cpu.cjs')

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  // Measures the program as shipped.
  buildGateway()
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  try {
    const remembered = await remember(folder, smoke ? 3 : 30)
    const config = ['--config', join(folder, 'mcp.json')]
    const env = {
      ...ENVIRONMENT,
      XDG_CACHE_HOME: join(folder, 'cache'),
      XDG_STATE_HOME: join(folder, 'state'),
    }
    const starts: Record<string, () => StartTimes | Promise<StartTimes>> = {
      'node -e 0': () => timeCommand(['-e', '0'], env),
      'toolcrib --version': () => timeCommand([MAIN, '--version'], env),
      'toolcrib list --json': () => timeCommand([MAIN, 'list', '--json', ...config], env),
      'toolcrib serve, to the first tools/list': () => timeFirstList(remembered),
    }
    const times = new Map<string, StartTimes[]>(Object.keys(starts).map((name) => [name, []]))
    // Alternating, so that a busy moment hits all of them.
    for (let nth = 0; nth < (smoke ? 1 : 9); nth++)
      for (const [name, start] of Object.entries(starts)) times.get(name)?.push(await start())
    console.log(`start: median of the starts, ${remembered.tools} tools of cached servers`)
    printTable(
      [...times].map(([name, all]) => {
        const { ms, cpuMs } = medianOf(all)
        return { name, ms: ms.toFixed(0), 'processor ms': cpuMs.toFixed(0) }
      }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

function timeCommand(args: readonly string[], env: NodeJS.ProcessEnv): StartTimes {
  const startedAt = performance.now()
  const { status, output } = spawnSync(process.execPath, ['--require', PRELOAD, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  const ms = performance.now() - startedAt
  if (status !== 0) throw new Error(`${args.join(' ')} failed`)
  return { ms, cpuMs: Number(output[3]) / 1_000 }
}

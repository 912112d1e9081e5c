import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the Redis that all tests share; undefined where redis-server is not installed. */
    readonly redisUrl: string | undefined
  }
}

/** The program to test with: REDIS_SERVER=valkey-server runs everything on Valkey. */
const PROGRAM = process.env.REDIS_SERVER ?? 'redis-server'

/** One Redis for all tests: each uses a prefix of its own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  if (!isInstalled()) {
    if (process.env.CI === 'true') throw new Error(`${PROGRAM} is missing: apt-get install redis-server`)
    process.stderr.write(`tests that need ${PROGRAM} are skipped: it is not installed\n`)
    provide('redisUrl', undefined)
    return async () => {}
  }
  const redis = await RedisServer.start()
  provide('redisUrl', redis.url)
  return () => redis.close()
}

function isInstalled(): boolean {
  return spawnSync(PROGRAM, ['--version']).status === 0
}

const SLOTS = 16_384

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** A redis-server process of its own, for tests that stop it, kill it or change its settings. */
export class RedisServer {
  readonly port: number
  readonly #folder: string
  readonly #flags: readonly string[]
  #child: ChildProcess | undefined

  private constructor(port: number, flags: readonly string[]) {
    this.port = port
    this.#flags = flags
    this.#folder = mkdtempSync(join(tmpdir(), 'toolcrib-redis-'))
  }

  static async start(...flags: string[]): Promise<RedisServer> {
    const server = await RedisServer.reserve(...flags)
    await server.start()
    return server
  }

  /** A port with nothing on it yet. */
  static async reserve(...flags: string[]): Promise<RedisServer> {
    return new RedisServer(await freePort(), flags)
  }

  /** Nodes of a cluster that share all slots. */
  static async startCluster(count: number): Promise<RedisServer[]> {
    const nodes = await Promise.all(
      Array.from({ length: count }, async () => {
        // By default it is 10,000 above the port, which may be too high.
        const bus = await freePort()
        const flags = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']
        const node = await RedisServer.start(...flags, '--cluster-port', String(bus))
        return { node, bus }
      }),
    )
    const share = Math.ceil(SLOTS / count)
    const [first] = nodes
    for (const [index, { node, bus }] of nodes.entries()) {
      await node.command('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min((index + 1) * share, SLOTS) - 1)
      await first?.node.command('CLUSTER', 'MEET', '127.0.0.1', node.port, bus)
    }
    return nodes.map(({ node }) => node)
  }

  /** Watchers that agree when a primary is gone, and make its replica the primary. They know it as `main`. */
  static async startSentinels(count: number, primary: RedisServer): Promise<RedisServer[]> {
    const start = async () => {
      const sentinel = await RedisServer.reserve()
      const lines = [
        `port ${sentinel.port}`,
        'bind 127.0.0.1',
        `sentinel monitor main 127.0.0.1 ${primary.port} ${Math.floor(count / 2) + 1}`,
        'sentinel down-after-milliseconds main 500',
        'sentinel failover-timeout main 5000',
      ]
      writeFileSync(join(sentinel.#folder, 'sentinel.conf'), `${lines.join('\n')}\n`)
      await sentinel.#run([join(sentinel.#folder, 'sentinel.conf'), '--sentinel'], 'Sentinel ID is')
      return sentinel
    }
    return Promise.all(Array.from({ length: count }, start))
  }

  /** Runs one command with `redis-cli`, and returns what it prints. */
  async command(...words: (string | number)[]): Promise<string> {
    const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(this.port), ...words.map(String)])
    return stdout
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const place = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--dir', this.#folder]
    await this.#run([...place, ...this.#flags], 'Ready to accept connections')
  }

  /** Starts the process, and waits until it prints that it is ready. */
  async #run(args: readonly string[], readyText: string): Promise<void> {
    const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (text: Buffer) => {
        if (text.includes(readyText)) resolve()
      })
      child.once('exit', (code) => reject(new Error(`${PROGRAM} ended with ${code}`)))
    })
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name)
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

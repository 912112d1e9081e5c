import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the Redis that all tests share; undefined where redis-server is not installed. */
    readonly redisUrl: string | undefined
  }
}

/** One Redis for all tests: each uses a prefix of its own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  if (!isInstalled()) {
    if (process.env.CI === 'true') throw new Error('redis-server is missing: apt-get install redis-server')
    process.stderr.write('tests that need redis-server are skipped: it is not installed\n')
    provide('redisUrl', undefined)
    return async () => {}
  }
  const redis = await RedisServer.start()
  provide('redisUrl', redis.url)
  return () => redis.close()
}

function isInstalled(): boolean {
  return spawnSync('redis-server', ['--version']).status === 0
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
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const address = probe.address()
    probe.close()
    await once(probe, 'close')
    return new RedisServer(typeof address === 'object' ? (address?.port ?? 0) : 0, flags)
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const child = spawn(
      'redis-server',
      [
        '--port',
        String(this.port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--dir',
        this.#folder,
        ...this.#flags,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (text: Buffer) => {
        if (text.includes('Ready to accept connections')) resolve()
      })
      child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
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

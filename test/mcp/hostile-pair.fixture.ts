import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, inject, vi } from 'vitest'
import type { ToolResult } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import {
  type ConnectedServers,
  type ConnectOptions,
  connectServers,
  type McpEvent,
} from '../../packages/mcp/src/index.ts'
import { HOSTILE_SERVER, script } from './reference-servers.fixture.ts'

/** What `echo()` returns when the server works. */
export const WELL = { ok: true, value: 'well' }

/** A registry with two servers that can misbehave: the tests ask `hostile` to, and leave `calm` alone. */
export class HostilePair {
  readonly registry = new ToolRegistry({ serverWaitMs: 20_000 })
  readonly events: McpEvent[] = []
  /** On the command line of every process that belongs to it. */
  readonly marker = `--marker=${randomUUID()}`
  servers: ConnectedServers | undefined
  readonly #hosts: ChildProcess[] = []
  #calls = 0

  /** Connects both, the hostile one with these arguments. */
  async connect(...args: string[]): Promise<void> {
    await this.open(args).ready()
  }

  /** Starts connecting both, the hostile one with its own settings. */
  open(args: readonly string[], settings: object = {}, options: ConnectOptions = {}): ConnectedServers {
    const hostile = { ...script(HOSTILE_SERVER, this.marker, ...args), timeout_ms: 2_000, ...settings }
    const calm = { ...script(HOSTILE_SERVER, this.marker), timeout_ms: 200_000, connect_timeout_ms: 200_000 }
    this.servers = connectServers(
      this.registry,
      { mcpServers: { hostile, calm } },
      { onEvent: (event) => this.events.push(event), ...options },
    )
    return this.servers
  }

  async call(name: string, args: unknown = {}, signal?: AbortSignal): Promise<ToolResult> {
    // Separate sessions: many equal calls in one would be taken for a loop.
    const context = { sessionId: `s${this.#calls++}`, ...(signal ? { signal } : {}) }
    const [answer] = await this.registry.executeParallel([{ toolCallId: 'c', name, args }], context)
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  echo(server: string, args: object = {}): Promise<ToolResult> {
    return this.call(`mcp__${server}__echo`, { text: 'well', ...args })
  }

  /** Asserts that the server works: its next call returns, and without a long wait. */
  async expectWell(server: string): Promise<void> {
    const tooLate = new Promise((resolve) => setTimeout(resolve, 10_000, 'no answer within ten seconds'))
    expect(await Promise.race([this.echo(server), tooLate])).toMatchObject(WELL)
  }

  /** Starts another process that connects to a hostile server, makes these calls, and prints the results. */
  startHost(calls: readonly string[]) {
    const child = spawn(process.execPath, [inject('mcpHost'), HOSTILE_SERVER, this.marker, ...calls], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#hosts.push(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return {
      child,
      ended: new Promise((resolve) => child.once('exit', resolve)),
      async untilSaid(
        what: string,
      ): Promise<{ answers: ToolResult[]; tools: number; peakMegabytes: number }> {
        for (;;) {
          const { value, done } = await lines.next()
          if (done) throw new Error(`the host ended before it said ${what}`)
          const said = JSON.parse(value)
          if (said.what === what) return said
        }
      },
    }
  }

  /** Every process that belongs to it, including descendants. */
  async processes(): Promise<string[]> {
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid,stat,args'], { maxBuffer: 10_000_000 })
    return stdout.split('\n').filter((line) => line.includes(this.marker) && !/^\s*\d+ Z/.test(line))
  }

  /** The idle child processes that a server started. */
  async idlers(): Promise<string[]> {
    return (await this.processes()).filter((line) => line.includes('setInterval'))
  }

  /** Closes everything and asserts that nothing is left running. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.servers?.close()
    for (const host of this.#hosts.splice(0)) host.kill('SIGKILL')
    await vi.waitFor(async () => expect(await this.processes()).toEqual([]), { timeout: 5_000 })
  }
}

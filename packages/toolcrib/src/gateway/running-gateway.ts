import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, unlink } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type ServerStatus, ToolcribError } from '@toolcrib/core'
import type { ApprovalBook, GrantKind, PendingApproval } from '@toolcrib/gateway'
import type { Config, Environment, ServerInfo } from '@toolcrib/mcp'
import pc from 'picocolors'
import type { Terminal } from '../terminal/terminal.ts'
import { plain } from '../terminal/text.ts'
import { extraSocketPaths, isPrivate, pidOfSocket, socketPath, socketPaths } from './runtime-folder.ts'

/** What a running gateway reports about itself. */
export interface GatewayReport {
  readonly pid: number
  readonly version: string
  /** null: it serves over stdio, to the client that started it. */
  readonly url: string | null
  /** The address of its page, with the operator's token; only over HTTP. */
  readonly page?: string
  /** What that client calls itself. */
  readonly client?: string
  /** How many are connected. */
  readonly clients?: number
  readonly callsUnderWay?: number
  readonly startedAt: string
  readonly files: readonly string[]
  readonly servers: readonly ServerStatus[]
  /** A digest of each server's config; see `serverDigest()`. */
  readonly digests?: Readonly<Record<string, string>>
  readonly [more: string]: unknown
}

/** A running gateway of the same config, started by this user. */
export class RunningGateway {
  readonly report: GatewayReport
  readonly #socketPath: string

  private constructor(path: string, report: GatewayReport) {
    this.#socketPath = path
    this.report = report
  }

  /** How people tell it from others: `at http://127.0.0.1:7117/mcp`. */
  get place(): string {
    const { url, client, pid } = this.report
    if (url !== null) return `at ${url}`
    return `over stdio for ${client === undefined ? 'a client' : plain(client)} (pid ${pid})`
  }

  /**
   * Finds a gateway that serves this config over HTTP, so that others can use its servers; undefined when there is none,
   * or it does not report in time.
   */
  static async find({ config }: OfConfig, env: Environment): Promise<RunningGateway | undefined> {
    const main = await RunningGateway.#at(socketPath(config.files, env), AbortSignal.timeout(FIND_MS))
    // One over stdio would only cost time if it does not answer.
    return main ?? (await RunningGateway.#reporting(await extraSocketPaths(config.files, env, 'http')))[0]
  }

  /**
   * All gateways of this config, over HTTP and stdio, and those of the same project: the user's config may have been
   * written, or removed, since they were started. The one that `find()` returns comes first, those over stdio last.
   */
  static async allOf({ config: { files } }: OfConfig, env: Environment): Promise<RunningGateway[]> {
    const main = socketPath(files, env)
    const own = new Set(await extraSocketPaths(files, env))
    const others = (await socketPaths(env)).filter((path) => path !== main && !own.has(path))
    const [first, ofFiles, ofOthers] = await Promise.all([
      RunningGateway.#at(main, AbortSignal.timeout(FIND_MS)),
      RunningGateway.#reporting([...own]),
      RunningGateway.#reporting(others),
    ])
    const ofProject = ofOthers.filter(({ report }) => report.files.at(-1) === files.at(-1))
    return [...(first ? [first] : []), ...[...ofFiles, ...ofProject].sort(compareTransports)]
  }

  /** All gateways that this user has started and that report within a second. */
  static async all(env: Environment): Promise<RunningGateway[]> {
    return RunningGateway.#reporting(await socketPaths(env))
  }

  /** Those over HTTP first. */
  static async #reporting(paths: readonly string[]): Promise<RunningGateway[]> {
    const signal = AbortSignal.timeout(REPORT_MS)
    const found = await Promise.all(paths.map((path) => RunningGateway.#at(path, signal)))
    return found.filter((gateway) => gateway !== undefined).sort(compareGateways)
  }

  static async #at(path: string, signal?: AbortSignal): Promise<RunningGateway | undefined> {
    // On Windows, pipes are not files.
    if (process.platform !== 'win32' && !(existsSync(path) && (await isPrivate(dirname(path)))))
      return undefined
    try {
      const report = await readJson<GatewayReport>(await send(path, 'GET', '/status', signal))
      return new RunningGateway(path, report)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await removeIfKilled(path)
      return undefined
    }
  }

  /**
   * Asks it to stop, and returns whether its process ended in time; calls in flight may finish. `onWait` is called
   * periodically. Never rejects.
   */
  async stop({ timeoutMs = STOP_MS, onWait = () => {} } = {}): Promise<boolean> {
    const timeUp = AbortSignal.timeout(timeoutMs)
    // One that does not answer may have just ended.
    await this.#post('/stop', timeUp)
    while (!timeUp.aborted) {
      if (!(await this.#isThere(timeUp))) return true
      onWait()
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return false
  }

  /**
   * Asks it to read config and lockfiles again, and returns false if it is running but has not done so in time. Never
   * rejects.
   */
  async reload({ timeoutMs = RELOAD_MS } = {}): Promise<boolean> {
    const isReloaded = await this.#post('/reload', AbortSignal.timeout(timeoutMs))
    return isReloaded || !(await this.#isThere(AbortSignal.timeout(REPORT_MS)))
  }

  /** Asks it to go on when no client is connected any more. Never rejects. */
  async keep(): Promise<boolean> {
    return this.#post('/keep', AbortSignal.timeout(REPORT_MS))
  }

  /** Ends a server's process, starts it again, and returns how that went. Rejects if the gateway does not have it. */
  async restart(server: string): Promise<ServerStatus> {
    const route = `/restart?${new URLSearchParams({ name: server })}`
    const answer = await readJson<{ status?: ServerStatus; error?: string }>(
      await send(this.#socketPath, 'POST', route),
    )
    if (answer.status) return answer.status
    throw new ToolcribError('source-unavailable', answer.error ?? `"${server}" was not restarted`)
  }

  /** The calls that wait for a person's approval, and what was granted. */
  async approvals(): Promise<ApprovalBook> {
    return this.#ask('GET', '/approvals')
  }

  /** Settles a call that waits; undefined if there is none with this id. */
  async decide(id: string, answer: GrantKind | 'deny'): Promise<PendingApproval | undefined> {
    const { decided } = await this.#ask<{ decided?: PendingApproval }>('POST', '/decide', { id, answer })
    return decided
  }

  /** Ends a grant, or all of them; returns how many. */
  async revoke(id: string | undefined): Promise<number> {
    const { revoked } = await this.#ask<{ revoked: number }>(
      'POST',
      '/revoke',
      id === undefined ? {} : { id },
    )
    return revoked
  }

  async #ask<Data>(
    method: string,
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): Promise<Data> {
    const response = await send(this.#socketPath, method, `${path}?${new URLSearchParams(query)}`)
    const answer = await readJson<Data & { readonly error?: string }>(response)
    if (answer.error === undefined) return answer
    throw new ToolcribError('source-unavailable', answer.error)
  }

  /** Returns whether it did as it was asked. */
  async #post(route: string, signal: AbortSignal): Promise<boolean> {
    try {
      const response = await send(this.#socketPath, 'POST', route, signal)
      await text(response)
      return response.statusCode === 200
    } catch {
      return false
    }
  }

  /** The socket closes first, while calls in flight finish; then the process ends. */
  async #isThere(signal: AbortSignal): Promise<boolean> {
    const isAnswering = await send(this.#socketPath, 'GET', '/status', signal).then(
      (response) => response.resume() !== undefined,
      () => false,
    )
    return isAnswering || (this.report.pid !== process.pid && (await isRunning(this.report.pid)))
  }

  /** Its log, as lines of JSON; with `follow`, the stream stays open. */
  logs({ server, follow }: { server?: string | undefined; follow: boolean }): Promise<IncomingMessage> {
    const query = new URLSearchParams()
    if (server !== undefined) query.set('server', server)
    if (follow) query.set('follow', '')
    return send(this.#socketPath, 'GET', `/logs?${query}`)
  }

  /** A stream of JSON-RPC lines, as over stdio, to a new session. */
  openStream(profile: string | undefined): Promise<Duplex> {
    return this.#upgrade(`/stdio${profile === undefined ? '' : `?${new URLSearchParams({ profile })}`}`)
  }

  /** What a server reports about itself; the gateway starts a server that has never run. Rejects with the reason. */
  async describeServer(server: string, signal: AbortSignal): Promise<ServerInfo> {
    const query = new URLSearchParams({ name: server })
    const answer = await readJson<{ info?: ServerInfo; error?: string }>(
      await send(this.#socketPath, 'GET', `/server?${query}`, signal),
    )
    if (answer.info) return answer.info
    throw new Error(answer.error ?? `the gateway does not know the server "${server}"`)
  }

  /** A stream of JSON-RPC lines to one server, over the gateway's connection to it. */
  openServer(server: string): Promise<Duplex> {
    return this.#upgrade(`/server?${new URLSearchParams({ name: server })}`)
  }

  async #upgrade(path: string): Promise<Duplex> {
    const upgrade = request({
      socketPath: this.#socketPath,
      path,
      headers: { connection: 'Upgrade', upgrade: 'mcp-stdio' },
    })
    upgrade.end()
    const [, stream, head] = await once(upgrade, 'upgrade')
    if (head.length > 0) stream.unshift(head)
    return stream
  }
}

/** Output that is not a terminal is a log, which others may read. */
export function printPage(terminal: Terminal, page: string): void {
  terminal.print(`  Page  ${pc.cyan(terminal.isInteractive ? page : page.replace(/#.*$/, ''))}`)
}

/** Longer than a gateway waits for calls in flight and its servers. */
const STOP_MS = 30_000
/** Longer than it takes to stop servers that do not end by themselves. */
const RELOAD_MS = 10_000
const POLL_MS = 50
const REPORT_MS = 1_000
/** A hanging gateway must not delay the start of another. */
const FIND_MS = 5_000

type OfConfig = { readonly config: Pick<Config, 'files'> }

function compareGateways(a: RunningGateway, b: RunningGateway): number {
  return compareTransports(a, b) || (a.report.startedAt < b.report.startedAt ? -1 : 1)
}

function compareTransports({ report: a }: RunningGateway, { report: b }: RunningGateway): number {
  return Number(a.url === null) - Number(b.url === null)
}

/** The next gateway takes over the main socket of one that was killed; nobody would take over an extra one. */
async function removeIfKilled(path: string): Promise<void> {
  const pid = pidOfSocket(path)
  if (pid !== undefined && !(await isRunning(pid))) await unlink(path).catch(() => {})
}

async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // An ended process stays in the process table until its parent reaps it, which the first process of a container may
  // never do.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return !/^State:\s+[ZX]/m.test(status)
}

async function send(
  path: string,
  method: string,
  route: string,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const options = { socketPath: path, method, path: route, agent: false as const }
  const sent = request(signal === undefined ? options : { ...options, signal })
  sent.end()
  const [response] = await once(sent, 'response')
  return response
}

async function readJson<Data>(response: IncomingMessage): Promise<Data> {
  return JSON.parse(await text(response))
}

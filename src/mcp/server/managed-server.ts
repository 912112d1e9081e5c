import type { Client } from '@modelcontextprotocol/client'
import type { ServerStatus } from '../../registry/server-directory.ts'
import type { ToolContext, ToolResult } from '../../tool.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { ServerCalls } from './server-calls.ts'
import { type CatalogueSurroundings, ServerCatalogue } from './server-catalogue.ts'
import { type LinkSurroundings, ServerLink } from './server-link.ts'
import { ServerReport } from './server-report.ts'
import type { ServerTool } from './server-tool.ts'

const CONNECT_MS = 30_000

/** What a server reaches: the registry, the lockfile's guard, connections, time and chance. */
export type ServerSurroundings = CatalogueSurroundings & LinkSurroundings

/**
 * One configured server through its life: cold, connecting, ready, failed and back. Its tools stay registered while it
 * is away, so that a call starts it again, or says why it cannot.
 */
export class ManagedServer {
  readonly name: string
  readonly config: ServerConfig
  readonly #report: ServerReport
  readonly #catalogue: ServerCatalogue
  readonly #link: ServerLink
  readonly #calls: ServerCalls
  readonly #refusal: () => string | undefined
  #starting: Promise<void> | undefined

  constructor(name: string, config: ServerConfig, around: ServerSurroundings) {
    const report = new ServerReport(name, config, around.emit)
    const refusal = () => config.problem ?? around.guard.refusal(name, config)
    const connectMs = config.connectTimeoutMs ?? CONNECT_MS
    const catalogue = new ServerCatalogue(name, config, { around, report, refusal, readMs: connectMs })
    const link = new ServerLink(name, config, { around, report, catalogue, refusal, connectMs })
    this.name = name
    this.config = config
    this.#report = report
    this.#catalogue = catalogue
    this.#link = link
    this.#calls = new ServerCalls(name, config, { link, catalogue, report, emit: around.emit })
    this.#refusal = refusal
  }

  get status(): ServerStatus {
    return this.#report.status
  }

  /** What it lists, before anything is left out; undefined until that is known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#catalogue.tools
  }

  /** True while searches had better wait: its tools are not known yet, and may soon be. */
  get isAwaited(): boolean {
    return this.status.state === 'connecting' && this.tools === undefined
  }

  /** Registers what is remembered of it, or connects to learn what it offers, once its forerunner has ended. */
  start(forerunner: Promise<void> = Promise.resolve()): void {
    this.#report.setState('connecting')
    this.#starting = forerunner.catch(ignore).then(() => this.#start())
  }

  /** Resolves once it is not connecting. */
  async settled(): Promise<void> {
    await this.#starting
    if (this.status.state === 'connecting') await this.#link.settled()
  }

  /** Runs one call, starting the server if need be. Never rejects. */
  call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    return this.#calls.call(tool, input, ctx)
  }

  /** The SDK's client, for what goes beyond tools; connects if need be. What it is used for counts as use. */
  async client(): Promise<Client> {
    return (await this.#link.connected()).client
  }

  /** Holds it to a lockfile that has just come into force. */
  async recheck(): Promise<void> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return this.#link.refuse(refusal)
    if (this.tools) this.#catalogue.recheck()
    else if (this.status.state === 'failed') this.start()
  }

  /** Ends it for good. Its tools stay registered: that is the owner's to decide. */
  async close(): Promise<void> {
    await Promise.all([this.#catalogue.close(), this.#link.close()])
  }

  async #start(): Promise<void> {
    const cached = this.#refusal() === undefined ? await this.#catalogue.recall() : undefined
    if (this.#link.isClosed) return
    const refusal = this.#refusal()
    if (refusal !== undefined) return this.#link.refuse(refusal)
    this.#link.expectEra(cached?.era)
    if (cached && this.config.start !== 'eager') return this.#report.setState('cold')
    await this.#link.connected().catch(ignore)
  }
}

function ignore(): void {}

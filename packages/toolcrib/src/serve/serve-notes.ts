import { setImmediate as turn } from 'node:timers/promises'
import { ToolcribError, type ToolcribEvent } from '@toolcrib/core'
import {
  type Config,
  describeUnmatched,
  type FoundConfig,
  type OpenedRegistry,
  unmatchedInConfig,
} from '@toolcrib/mcp'
import pc from 'picocolors'
import { mendServer } from '../servers/mend-server.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { ReloadOutcome } from './live-config.ts'
import type { LogBook } from './log-book.ts'

/** What a person should act on while a gateway runs: failing servers, rules that match nothing, and reloads. */
export class ServeNotes {
  readonly #terminal: Terminal
  readonly #logs: LogBook
  readonly #opened: OpenedRegistry
  /** The reason for the failure of each server. */
  readonly #failures = new Map<string, string>()
  readonly #downloading = new Set<string>()
  readonly #rules = new Set<string>()
  /** Notes about failures until the gateway is announced. */
  #waiting: string[] | undefined = []

  constructor(terminal: Terminal, logs: LogBook, opened: OpenedRegistry) {
    this.#terminal = terminal
    this.#logs = logs
    this.#opened = opened
  }

  /** Collects a note for each server that has failed, and for those that fail from now on, once per reason. */
  watchFailures(found: () => FoundConfig): void {
    const { registry, servers } = this.#opened
    registry.subscribe((event) => {
      this.#noteFailure(event, found())
      this.#noteDownload(event)
    })
    for (const status of servers.status())
      if (status.state === 'failed')
        this.#noteFailure({ ...status, type: 'server-state', at: Date.now() }, found())
  }

  /** Prints the collected notes about failures, and from now on prints immediately. */
  showFailures(): void {
    for (const line of this.#waiting ?? []) this.#terminal.note(line)
    this.#waiting = undefined
  }

  /**
   * Once the servers have listed their tools, prints the names and globs of allow, deny and pinned that certainly match
   * no tool, once each: a guard that is misspelt guards nothing. Never rejects.
   */
  async showRules(config: Config): Promise<void> {
    for (const message of (await this.#unmatched(config)).map(describeUnmatched)) {
      if (this.#rules.has(message)) continue
      this.#rules.add(message)
      this.#warn(message)
    }
  }

  /** Throws `config-invalid` if a deny rule matches nothing. */
  async requireRules(config: Config): Promise<void> {
    const denied = (await this.#unmatched(config)).filter(({ list }) => list === 'deny')
    if (denied.length > 0)
      throw new ToolcribError(
        'config-invalid',
        `not served, because of --strict: ${denied.map(describeUnmatched).join('; ')}`,
      )
    await this.showRules(config)
  }

  /** Logs the outcome of a reload. */
  reloaded(outcome: ReloadOutcome): void {
    if ('problem' in outcome) {
      const message = outcome.isAccessApplied
        ? `tokens, profiles and limits were reloaded, but the servers were not: ${outcome.problem}; restart the gateway, or reload again`
        : `the config was not reloaded: ${outcome.problem}`
      this.#logs.write('error', message)
      this.#terminal.note(`${pc.red('✗')} ${message}`)
      return
    }
    this.#logs.write('info', 'the config was reloaded')
    const tables = outcome.unapplied.map((name) => `[${name}]`).join(', ')
    if (tables !== '') this.#warn(`${tables} changed; restart the gateway to apply this`)
    void this.showRules(outcome.found.config)
  }

  #warn(message: string): void {
    this.#logs.write('warn', message)
    this.#terminal.warn(message)
  }

  /** Once per download, although it is reported every few seconds. */
  #noteDownload(event: ToolcribEvent): void {
    if (event.type !== 'server-state') return
    const { server, detail } = event
    if (detail === undefined) this.#downloading.delete(server)
    if (detail === undefined || this.#downloading.has(server)) return
    this.#downloading.add(server)
    this.#show(`${pc.dim('…')} ${pc.bold(server)}: ${detail}; its tools appear once it has started`)
  }

  #noteFailure(event: ToolcribEvent, { config }: FoundConfig): void {
    if (event.type !== 'server-state') return
    const { server, state, reason = '' } = event
    if (state === 'ready') this.#failures.delete(server)
    if (state !== 'failed' || this.#failures.get(server) === reason) return
    this.#failures.set(server, reason)
    const { fault, step } = mendServer(server, reason, config.servers[server])
    this.#show(`${pc.red('✗')} ${pc.bold(server)}: ${fault}; ${step}`)
  }

  #show(line: string): void {
    if (this.#waiting) this.#waiting.push(line)
    else this.#terminal.note(line)
  }

  async #unmatched(config: Config) {
    await this.#opened.servers.ready()
    // Registering the last list may have taken long.
    await turn()
    return unmatchedInConfig({ ...this.#opened, config }).filter(({ unknown }) => unknown.length === 0)
  }
}

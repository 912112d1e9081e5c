import pc from 'picocolors'
import type { ToolcribEvent } from 'toolcrib'
import type { FoundConfig, OpenedRegistry } from 'toolcrib/mcp'
import { mendServer } from '../mend-server.ts'
import type { Terminal } from '../terminal.ts'

/** Reports failing servers on the terminal, once per reason, and what to do about it. */
export class FailureNotes {
  readonly #terminal: Terminal
  readonly #found: () => FoundConfig
  readonly #known = new Map<string, string>()
  readonly #waiting: string[] = []
  #isShown = false

  constructor(terminal: Terminal, found: () => FoundConfig) {
    this.#terminal = terminal
    this.#found = found
  }

  /** Notes the servers that have failed, and those that fail from now on. */
  watch({ registry, servers }: Pick<OpenedRegistry, 'registry' | 'servers'>): void {
    registry.subscribe((event) => this.#note(event))
    for (const status of servers.status())
      if (status.state === 'failed') this.#note({ ...status, type: 'server-state', at: Date.now() })
  }

  /** Prints the collected notes, and from now on prints immediately. */
  show(): void {
    this.#isShown = true
    for (const line of this.#waiting.splice(0)) this.#print(line)
  }

  #note(event: ToolcribEvent): void {
    if (event.type !== 'server-state') return
    const { server, state, reason = '' } = event
    if (state === 'ready') this.#known.delete(server)
    if (state !== 'failed' || this.#known.get(server) === reason) return
    this.#known.set(server, reason)
    const { fault, step } = mendServer(server, reason, this.#found().config.servers[server])
    this.#print(`${pc.red('✗')} ${pc.bold(server)}: ${fault}; ${step}`)
  }

  #print(line: string): void {
    if (this.#isShown) this.#terminal.note(line)
    else this.#waiting.push(line)
  }
}

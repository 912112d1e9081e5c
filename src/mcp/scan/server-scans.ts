import type { Finding } from '../../finding.ts'
import type { Schedule } from '../../time.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { ToolScanner } from './tool-scanner.ts'

/** How long the comparison waits, so that it does not delay the first list and the first search. */
const COMPARE_MS = 1_000

/** The tools of one server, and the callback for new findings. */
export interface SeenTools {
  readonly server: string
  readonly tools: readonly ServerTool[]
  /** What an earlier scan found in these tools themselves; undefined if there was none. */
  readonly known?: readonly Finding[] | undefined
  readonly report: (finding: Finding) => void
}

/**
 * Scans the tools of all servers. New tools are scanned at once. Those that were scanned before only need to be
 * compared with the tools of other servers: this happens in the background, one server at a time, or when the findings
 * are requested.
 */
export class ServerScans {
  readonly #scanner = new ToolScanner()
  readonly #schedule: Schedule
  /** In the order in which they were seen: of two similar tools, the later one imitates the other. */
  readonly #waiting = new Map<string, SeenTools>()
  #stopTimer: (() => void) | undefined

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  /** Replaces a server's tools. */
  see(seen: SeenTools): void {
    this.#waiting.delete(seen.server)
    if (seen.known === undefined) {
      this.#compareAll()
      this.#scan(seen)
      return
    }
    this.#waiting.set(seen.server, seen)
    this.#stopTimer ??= this.#schedule(COMPARE_MS, () => this.#compareNext())
  }

  /** What was found in a server's tools themselves, without the comparison with other servers. */
  ownFindings(server: string): readonly Finding[] {
    return this.#waiting.get(server)?.known ?? this.#scanner.ownFindings(server)
  }

  /** All findings about the current tools. */
  findings(): readonly Finding[] {
    this.#compareAll()
    return this.#scanner.findings()
  }

  /** Forgets a server's tools. If it comes back, its findings are reported again. */
  forget(server: string): void {
    this.#waiting.delete(server)
    this.#scanner.forget(server)
    if (this.#waiting.size === 0) this.#stop()
  }

  #compareNext(): void {
    this.#stopTimer = undefined
    const [first] = this.#waiting.values()
    if (first) this.#scan(first)
    if (this.#waiting.size > 0) this.#stopTimer = this.#schedule(0, () => this.#compareNext())
  }

  #compareAll(): void {
    this.#stop()
    for (const seen of [...this.#waiting.values()]) this.#scan(seen)
  }

  #scan({ server, tools, known, report }: SeenTools): void {
    this.#waiting.delete(server)
    for (const finding of this.#scanner.see(server, tools, known)) report(finding)
  }

  #stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }
}

import type { Finding, FindingKind, Schedule } from '@toolcrib/core'
import type { Slices, Trace } from '@toolcrib/core/internal'
import type { ItemKind, ServerItem } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import { scanTexts, textsOf } from './scan-tool.ts'
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

/** Prompts, resources, templates or instructions of one server, and the callback for new findings. */
export interface SeenItems {
  readonly server: string
  readonly kind: ItemKind
  readonly items: readonly ServerItem[]
  readonly report: (finding: Finding) => void
}

/** A list that is being scanned, or waits for it. */
interface Scan {
  readonly seen: SeenTools
  /** Yields the findings that are new. */
  readonly steps: Iterator<Finding | undefined>
  /** Called once it is scanned, with what was found in the tools themselves, or dropped before. */
  end(own: readonly Finding[] | undefined): void
}

/**
 * Scans the tools of all servers, and what else they list: one server after the other, in slices. New tools are scanned at once.
 * Those that were scanned before only need to be compared with the tools of other servers: this happens a little later, or
 * when the findings are requested.
 */
export class ServerScans {
  readonly #scanner = new ToolScanner()
  readonly #schedule: Schedule
  readonly #slices: Slices
  /** In the order in which they were seen: of two similar tools, the later one imitates the other. */
  readonly #waiting = new Map<string, Scan>()
  /** What was found in each list besides tools, by server and kind. */
  readonly #items = new Map<string, Map<ItemKind, readonly Finding[]>>()
  #stopTimer: (() => void) | undefined
  /** Resolves when nothing waits any more. */
  #working: Promise<void> | undefined

  constructor(schedule: Schedule, slices: Slices) {
    this.#schedule = schedule
    this.#slices = slices
  }

  /**
   * Replaces a server's tools. Resolves, once they are scanned, with what was found in the tools themselves, without the
   * comparison with other servers; with undefined if they are replaced or forgotten before.
   */
  see(seen: SeenTools): Promise<readonly Finding[] | undefined> {
    // At the end: a list is compared with those that were seen before it.
    this.#drop(seen.server)
    return new Promise((end) => {
      this.#waiting.set(seen.server, { seen, steps: this.#steps(seen), end })
      if (seen.known === undefined) this.#start()
      else if (!this.#working) this.#stopTimer ??= this.#schedule(COMPARE_MS, () => this.#start())
    })
  }

  /** Replaces one list of a server. */
  seeItems({ server, kind, items, report }: SeenItems): void {
    const lists = this.#items.get(server) ?? new Map<ItemKind, readonly Finding[]>()
    const findings = scanItems(server, items)
    const known = new Set(lists.get(kind)?.map((finding) => JSON.stringify(finding)))
    this.#items.set(server, lists.set(kind, findings))
    for (const finding of findings) if (!known.has(JSON.stringify(finding))) report(finding)
  }

  /** All findings about the current tools, and about what else was listed: finishes the scan, or returns what it found so far. */
  findings({ soFar = false } = {}): readonly Finding[] {
    while (!soFar && this.#step());
    const ofItems = [...this.#items.values()].flatMap((lists) => [...lists.values()].flat())
    return [...this.#scanner.findings(), ...ofItems]
  }

  /** Forgets a server's tools. If it comes back, its findings are reported again. */
  forget(server: string): void {
    this.#drop(server)
    this.#scanner.forget(server)
    this.#items.delete(server)
    if (this.#waiting.size === 0) this.#stop()
  }

  #start(): void {
    this.#stop()
    if (this.#working) return
    const working = this.#work()
    // Little work is done already.
    if (this.#waiting.size > 0) this.#working = working
    // A scan that fails finds nothing.
    working.catch(() => {})
  }

  async #work(): Promise<void> {
    try {
      do if (this.#slices.isOver) await this.#slices.pause()
      while (this.#step())
    } finally {
      this.#working = undefined
    }
  }

  /** Takes one step; returns false when nothing waits. */
  #step(): boolean {
    const [first] = this.#waiting.values()
    if (!first) return false
    const { server, report } = first.seen
    let step: IteratorResult<Finding | undefined> = { done: true, value: undefined }
    try {
      step = first.steps.next()
    } finally {
      if (step.done && this.#waiting.get(server) === first)
        this.#drop(server, this.#scanner.ownFindings(server))
      if (this.#waiting.size === 0) this.#stop()
    }
    if (step.value) report(step.value)
    return true
  }

  #drop(server: string, own?: readonly Finding[]): void {
    this.#waiting.get(server)?.end(own)
    this.#waiting.delete(server)
  }

  *#steps({ server, tools, known }: SeenTools): Generator<Finding | undefined, undefined, undefined> {
    for (const finding of yield* this.#scanner.seeInSteps(server, tools, known)) yield finding
    return undefined
  }

  #stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }
}

/** Instructions may say how to use the server's tools, and in which order. */
const EXPECTED_OF_INSTRUCTIONS: readonly FindingKind[] = ['instruction', 'precedence']

/** Finds what is suspicious in the prompts, resources, templates or instructions of one server. */
function scanItems(server: string, items: readonly ServerItem[]): Finding[] {
  const known = new Map<string, readonly Trace[]>()
  return items.flatMap(({ kind, key, listed }) => {
    const { uri, uriTemplate, name, title, description, arguments: parameters, text } = listed
    const texts = textsOf({ name, uri, uriTemplate, title, description, arguments: parameters, text })
    const tool = kind === 'instructions' ? kind : key
    const findings = scanTexts({ server, tool, item: kind }, texts, known)
    return kind === 'instructions'
      ? findings.filter((finding) => !EXPECTED_OF_INSTRUCTIONS.includes(finding.kind))
      : findings
  })
}

import type { ToolcribEvent, ToolRegistry } from '@toolcrib/core'
import { beginningOf } from './beginning-of.ts'

/** A line about a server. */
export interface ServerLine {
  readonly at: number
  /** `output` is a line that the server wrote to stderr. */
  readonly level: 'info' | 'output' | 'warn' | 'error'
  readonly text: string
}

/** The starts and failures of a server since the inspector was created. */
export interface ServerCourse {
  /** How long its last start took. */
  readonly startMs?: number
  readonly readySince?: number
  readonly starts: number
  /** Starts of a server that was not asleep: it had failed, or the user restarted it. */
  readonly restarts: number
  readonly failures: number
  readonly lines: readonly ServerLine[]
}

const KEPT_LINES = 200
const MAX_SERVERS = 1_000
const MAX_TEXT = 2_000

/** What happened to each server: its states, its warnings and how long it took to start. */
export class ServerLog {
  readonly #courses = new Map<string, Course>()
  readonly #unsubscribe: () => void

  constructor(registry: ToolRegistry) {
    this.#unsubscribe = registry.subscribe((event) => this.#note(event))
  }

  of(server: string): ServerCourse {
    return this.#courses.get(server)?.value() ?? { starts: 0, restarts: 0, failures: 0, lines: [] }
  }

  close(): void {
    this.#unsubscribe()
  }

  #note(event: ToolcribEvent): void {
    if (!('server' in event)) return
    let course = this.#courses.get(event.server)
    if (!course) {
      if (this.#courses.size >= MAX_SERVERS) return
      course = new Course()
      this.#courses.set(event.server, course)
    }
    course.note(event)
  }
}

class Course {
  readonly #lines: ServerLine[] = []
  #starts = 0
  #restarts = 0
  #isAsleep = false
  #failures = 0
  #connectingSince: number | undefined
  #startMs: number | undefined
  #readySince: number | undefined

  note(event: Extract<ToolcribEvent, { readonly server: string }>): void {
    if (event.type === 'server-state') this.#enter(event)
    else if (event.type === 'server-warning') this.#add(event.at, 'warn', event.warning)
    else if (event.type === 'server-output') this.#add(event.at, 'output', event.line)
    else if (event.type === 'tool-invalid') this.#add(event.at, 'warn', `tool ${event.tool}: ${event.reason}`)
    else if (event.type === 'server-synced') {
      const counts = (['added', 'changed', 'removed'] as const).flatMap((kind) =>
        event[kind].length === 0 ? [] : [`${event[kind].length} ${kind}`],
      )
      this.#add(event.at, 'info', `tools: ${counts.join(', ') || 'unchanged'}`)
    }
  }

  value(): ServerCourse {
    return {
      ...(this.#startMs === undefined ? {} : { startMs: this.#startMs }),
      ...(this.#readySince === undefined ? {} : { readySince: this.#readySince }),
      starts: this.#starts,
      restarts: this.#restarts,
      failures: this.#failures,
      lines: this.#lines,
    }
  }

  #enter({
    at,
    state,
    detail,
    reason = detail,
  }: Extract<ToolcribEvent, { readonly type: 'server-state' }>): void {
    if (state === 'connecting') this.#connectingSince ??= at
    else {
      if (state === 'ready') {
        if (this.#starts > 0 && !this.#isAsleep) this.#restarts++
        this.#starts++
        if (this.#connectingSince !== undefined) this.#startMs = at - this.#connectingSince
      }
      if (state === 'failed') this.#failures++
      this.#isAsleep = state === 'cold'
      this.#connectingSince = undefined
    }
    this.#readySince = state === 'ready' ? at : undefined
    const word = state === 'cold' ? 'asleep' : state
    this.#add(at, state === 'failed' ? 'error' : 'info', reason === undefined ? word : `${word}: ${reason}`)
  }

  #add(at: number, level: ServerLine['level'], text: string): void {
    const last = this.#lines.at(-1)
    if (last?.text === text) return
    this.#lines.push({ at, level, text: beginningOf(text, MAX_TEXT) })
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }
}

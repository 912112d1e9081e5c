import type { Finding, ToolcribEvent } from '@toolcrib/core'
import { type AlikeFinding, isAlike } from '../servers/alike-servers.ts'
import { toolName } from '../terminal/text.ts'
import type { LogFile, LogLine } from './log-file.ts'

/** How many lines are kept. */
const KEPT_LINES = 2_000

/** Recent events for `toolcrib logs`, in memory and in a file. Arguments and results are never included. */
export class LogBook {
  readonly #file: LogFile | undefined
  readonly #lines: LogLine[] = []
  readonly #readers = new Set<(line: LogLine) => void>()
  readonly #alike = new Set<string>()

  constructor(file?: LogFile) {
    this.#file = file
  }

  /** Adds a line for an event; most events have none. */
  note(event: ToolcribEvent): void {
    if (event.type === 'tool-suspicious' && isAlike(event.finding) && this.#isAlikeKnown(event.finding))
      return
    const line = toLine(event)
    if (line !== undefined) this.add({ at: new Date(event.at).toISOString(), ...line })
  }

  /** Two servers with equal tools get one line, not one per tool. */
  #isAlikeKnown({ server, original }: AlikeFinding): boolean {
    const pair = JSON.stringify([server, original.server])
    const isKnown = this.#alike.has(pair)
    if (this.#alike.size < KEPT_LINES) this.#alike.add(pair)
    return isKnown
  }

  /** Adds a line of the gateway itself. */
  write(level: LogLine['level'], message: string, at: number = Date.now()): void {
    this.add({ at: new Date(at).toISOString(), level, message })
  }

  add(line: LogLine): void {
    this.#file?.write(line)
    this.#lines.push(line)
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
    for (const read of this.#readers) read(line)
  }

  /** The lines of a server, or all of them, oldest first. */
  lines(server?: string): readonly LogLine[] {
    return server === undefined ? [...this.#lines] : this.#lines.filter((line) => line.server === server)
  }

  /** Calls `read` with every line from now on. Returns a function that stops it. */
  follow(read: (line: LogLine) => void): () => void {
    this.#readers.add(read)
    return () => this.#readers.delete(read)
  }
}

function toLine(event: ToolcribEvent): Omit<LogLine, 'at'> | undefined {
  switch (event.type) {
    case 'server-state': {
      const { server, state, detail, reason = detail } = event
      const message = reason === undefined ? state : `${state}: ${reason}`
      return { level: state === 'failed' ? 'error' : 'info', server, message }
    }
    case 'server-warning':
      return { level: 'warn', server: event.server, message: event.warning }
    case 'server-output':
      return { level: 'info', server: event.server, message: `stderr: ${event.line}` }
    case 'tool-invalid':
      return { level: 'warn', server: event.server, message: `tool ${event.tool}: ${event.reason}` }
    case 'tool-suspicious':
      return {
        level: isAlike(event.finding) ? 'info' : 'warn',
        server: event.server,
        message: describeFinding(event.finding),
      }
    case 'output-mismatch':
      return { level: 'warn', server: event.server, message: `tool ${event.tool}: ${event.faults}` }
    case 'call-finished': {
      const { name, ok, code, durationMs, toolCallId } = event
      // Its script waits for a person, which has a line of its own.
      if (code === 'waiting') return undefined
      const outcome = ok ? 'ok' : (code ?? 'failed')
      const [, inner] = /\.(\d+)$/.exec(toolCallId) ?? []
      const call = inner === undefined ? 'call' : `call ${inner} of a script,`
      const message = `${call} ${toolName(name)}: ${outcome}, ${Math.round(durationMs)} ms`
      const server = serverOf(name)
      return { level: ok ? 'info' : 'warn', ...(server === undefined ? {} : { server }), message }
    }
    case 'script-started':
      return { level: 'info', message: `script ${event.run} started` }
    case 'script-paused':
      return {
        level: 'info',
        message: `script ${event.run} waits for a person: ${event.names.map((name) => toolName(name)).join(', ')}`,
      }
    case 'script-ended':
      return {
        level: event.ok ? 'info' : 'warn',
        message: `script ${event.run} ended: ${event.ok ? 'ok' : event.code}`,
      }
    case 'tool-quarantined':
      return { level: 'warn', message: `tool ${toolName(event.name)} is in quarantine: ${event.reason}` }
    case 'save-failed':
    case 'load-failed':
      return { level: 'error', message: `store: ${event.error}` }
    default:
      return undefined
  }
}

/** The server of a registered name, `mcp__<server>__<tool>`. */
function serverOf(name: string): string | undefined {
  return /^mcp__(.+?)__/.exec(name)?.[1]
}

function describeFinding(finding: Finding): string {
  const { tool, item, place, severity, message, excerpt } = finding
  if (isAlike(finding))
    return `tools are word for word those of "${finding.original.server}", such as ${tool}; see "toolcrib doctor"`
  // Quoted, because the server wrote it, including line breaks.
  const passage = excerpt === '' ? '' : `: ${JSON.stringify(excerpt)}`
  const what = item === undefined ? `tool ${tool}` : item === 'instructions' ? item : `${item} "${tool}"`
  return `${what} is suspicious (${severity}), ${place}: ${message}${passage}`
}

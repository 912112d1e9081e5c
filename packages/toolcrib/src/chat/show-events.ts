import type { CallResult, ToolCall } from '@toolcrib/core'
import type { AgentEvent } from '@toolcrib/core/agent'
import pc from 'picocolors'
import { wrap } from '../terminal/text.ts'
import { oneLine, printable } from './printable.ts'

/** Prints a run as it happens: text as it streams, calls as they start and end, and failures. */
export class EventPrinter {
  readonly #write: (text: string) => void
  readonly #rootId: string
  readonly #width: number
  #isLineOpen = false

  /** Lines about calls are wrapped to `width`; the model's own text is not. */
  constructor(write: (text: string) => void, rootId: string, width = Number.POSITIVE_INFINITY) {
    this.#write = write
    this.#rootId = rootId
    this.#width = width
  }

  show(event: AgentEvent): void {
    const isRoot = event.sessionId === this.#rootId
    const line = (text: string) => this.#line(isRoot ? text : `  ${text}`)
    switch (event.type) {
      case 'text':
        // The text of a sub-agent is for the model that called it.
        if (isRoot) this.#text(event.text)
        return
      case 'calling':
        for (const call of event.calls) line(pc.cyan(`→ ${describeCall(call)}`))
        return
      case 'called':
        for (const result of event.results) line(describeResult(result))
        return
      case 'retrying':
        line(pc.yellow(`… ${oneLine(event.reason)}; retrying in ${(event.delayMs / 1000).toFixed(1)} s`))
        return
      case 'looping':
        line(pc.yellow(`… ${oneLine(event.name)} returned the same result ${event.times} times`))
        return
      default:
        return
    }
  }

  /** Ends the line that text was written to. */
  endLine(): void {
    if (this.#isLineOpen) this.#write('\n')
    this.#isLineOpen = false
  }

  #text(text: string): void {
    const clean = printable(text)
    if (clean === '') return
    this.#write(clean)
    this.#isLineOpen = !clean.endsWith('\n')
  }

  #line(text: string): void {
    this.endLine()
    this.#write(`${wrap(text, this.#width)}\n`)
  }
}

function describeCall({ name, args }: ToolCall): string {
  const text = JSON.stringify(args) ?? ''
  return `${oneLine(name)} ${pc.dim(text === '{}' ? '' : oneLine(text))}`.trimEnd()
}

function describeResult({ name, result, durationMs }: CallResult): string {
  const time = pc.dim(`${Math.round(durationMs)} ms`)
  if (!result.ok) return `${pc.red('✗')} ${oneLine(name)} ${pc.red(oneLine(result.error))} ${time}`
  return `${pc.green('✓')} ${oneLine(name)} ${pc.dim(oneLine(result.value, 70))} ${time}`
}

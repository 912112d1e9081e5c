import { appendFile, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { makeFolder } from '@toolcrib/mcp/stores'

export interface LineReaderOptions {
  readonly input: Readable
  readonly output: Writable
  /** Whether a person types: lines can be edited and recalled, and prompts are drawn. */
  readonly isInteractive: boolean
  /** Lines of earlier chats, newest first. */
  readonly history: readonly string[]
  onInterrupt(): void
}

/** Returns lines one at a time; lines that arrive early are queued. */
export class LineReader {
  readonly #interface: Interface
  readonly isInteractive: boolean
  readonly #output: Writable
  readonly #early: string[] = []
  #waiting: ((line: string | undefined) => void) | undefined
  #isClosed = false

  constructor({ input, output, isInteractive, history, onInterrupt }: LineReaderOptions) {
    this.isInteractive = isInteractive
    this.#output = output
    this.#interface = createInterface({
      input,
      output,
      terminal: isInteractive,
      history: [...history],
      historySize: 500,
      removeHistoryDuplicates: true,
    })
    this.#interface.on('line', (line) => {
      if (!this.#answer(line)) this.#early.push(line)
    })
    this.#interface.on('SIGINT', onInterrupt)
    this.#interface.on('close', () => {
      this.#isClosed = true
      this.#answer(undefined)
    })
  }

  /** Returns the next line; undefined at the end of input, or when the signal is aborted first. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined)
    const early = this.#early.shift()
    if (early === undefined && this.#isClosed) return Promise.resolve(undefined)
    this.#show(prompt)
    if (early !== undefined) return Promise.resolve(early)
    return new Promise((resolve) => {
      const stop = () => this.#answer(undefined)
      signal?.addEventListener('abort', stop, { once: true })
      this.#waiting = (line) => {
        signal?.removeEventListener('abort', stop)
        resolve(line)
      }
    })
  }

  /**
   * Returns the next line typed after the prompt is shown: earlier input was meant for something else and is dropped.
   * Without a person typing, lines are read in order.
   */
  askAfterPrompt(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (this.isInteractive) this.#early.length = 0
    return this.ask(prompt, signal)
  }

  /** Clears the line being typed, and shows the prompt again. */
  startOver(): void {
    if (!this.isInteractive) return
    this.#interface.write(null, { ctrl: true, name: 'e' })
    this.#interface.write(null, { ctrl: true, name: 'u' })
    this.#interface.prompt()
  }

  close(): void {
    this.#interface.close()
  }

  #show(prompt: string): void {
    const lastLine = prompt.lastIndexOf('\n') + 1
    this.#output.write(prompt.slice(0, lastLine))
    if (!this.isInteractive) return void this.#output.write(prompt.slice(lastLine))
    // Only a one-line prompt can be redrawn while the user edits the line.
    this.#interface.setPrompt(prompt.slice(lastLine))
    this.#interface.prompt()
  }

  #answer(line: string | undefined): boolean {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(line)
    return waiting !== undefined
  }
}

/** The lines of earlier chats, newest first; none when they cannot be read. */
export async function readHistory(path: string, limit = 500): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.slice(-limit).reverse()
}

/** Saves a line for later chats, readable by this user only. Failures are ignored. */
export async function keepLine(path: string, line: string): Promise<void> {
  try {
    await makeFolder(dirname(path), { mode: 0o700 })
    await appendFile(path, `${line.replaceAll('\n', ' ')}\n`, { mode: 0o600 })
  } catch {
    // The chat works without history, for example with a read-only home folder.
  }
}

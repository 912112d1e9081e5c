import { isUtf8 } from 'node:buffer'
import type { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isRecord, parseJson } from '@toolcrib/core/internal'
import { MAX_LIST_BYTES, MessageGuard, type Verdict } from '../message-guard.ts'
import { type GuardedTransport, handOn, type SendOptions } from '../requests.ts'
import type { Launcher } from './launcher.ts'
import { describeBrokenCache, describeCutOff } from './launcher-cache.ts'
import { describeLauncherFailure } from './launcher-failure.ts'
import { EDGE_BYTES, LineFramer, type OverlongLine } from './line-framer.ts'
import { describeExit } from './server-output.ts'
import { type ServerCommand, ServerProcess } from './server-process.ts'

/** How to start a server, and how to treat its output. */
export interface StdioTransportOptions extends ServerCommand {
  /** Longer messages are dropped, and the calls they answer fail. */
  readonly maxMessageBytes: number
  /** Called for invalid output, which is skipped. */
  readonly onWarning: (warning: string) => void
  /** Removes secrets from server output before it is reported. */
  readonly conceal: (text: string) => string
  /** The launcher that may have to download the server first. */
  readonly launcher?: Launcher | undefined
  /** Called with the first message of the server: it is installed. */
  readonly onFirstMessage?: (() => void) | undefined
}

const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
/** A server with more unread input than this is not going to read it. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024
/** How the responses of servers begin, and how many such places in an invalid line are tried. */
const RESPONSE_START = /\{"(?:jsonrpc|id|result|error)":/g
const MAX_STARTS = 8
/** Parsing and checking a message of this length takes a few milliseconds. */
const LONG_BYTES = 1024 * 1024

/**
 * Communicates with a server over its stdin and stdout, one JSON message per line. No output of the server ends the
 * transport: anything that is not a message is skipped, and a response that is too long or malformed fails only its
 * own call.
 */
export class StdioTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  intercept?: (message: JSONRPCMessage) => boolean
  readonly #options: StdioTransportOptions
  readonly guard = new MessageGuard()
  readonly #framer: LineFramer
  #process: ServerProcess | undefined
  #starting: Promise<void> | undefined
  #greeting: Readonly<Record<string, unknown>> | undefined
  #closing: Promise<void> | undefined
  #draining: Promise<void> | undefined
  #closedBecause: string | undefined
  #junkLines = 0
  #hasSpoken = false
  /** Resolves once the messages so far are delivered; undefined if they are. */
  #delivering: Promise<void> | undefined

  constructor(options: StdioTransportOptions) {
    this.#options = options
    this.#framer = new LineFramer({
      maxBytes: options.maxMessageBytes,
      onLine: (line) => this.#readLine(line),
      onOverlong: (line) => this.#inOrder(() => this.#deliver(this.#readOverlong(line))),
    })
  }

  /** Why the server ended, once it has. */
  get closedBecause(): string | undefined {
    return this.#closedBecause
  }

  /** Starts the server, once. */
  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /** Answers the next `initialize` with this result, because the server has already been greeted. */
  answerGreeting(result: Readonly<Record<string, unknown>>): void {
    this.#greeting = result
  }

  async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (this.#greeting && 'method' in message && message.method === 'initialize' && 'id' in message) {
      const result = this.#greeting
      this.#greeting = undefined
      handOn({ jsonrpc: '2.0', id: message.id, result }, this)
      return
    }
    await this.#write(message, options)
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  async #start(): Promise<void> {
    const { launcher, command, conceal, env } = this.#options
    const isLauncher = launcher !== undefined
    const process = await ServerProcess.start({ ...this.#options, isLauncher })
    this.#process = process
    process.stdout.on('data', (chunk: Buffer) => this.#framer.push(chunk))
    process.ended.then(async (exit) => {
      await this.#delivering
      const { lastWords } = process
      const said = conceal(lastWords)
      this.#closedBecause ??=
        describeBrokenCache(lastWords, env.HOME, conceal) ??
        (isLauncher && !this.#hasSpoken ? describeLauncherFailure(said) : undefined) ??
        describeExit(exit, command, said)
      this.#closed()
    })
    if (this.#closing) await this.#stop()
  }

  async #write(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    const stdin = this.#process?.stdin
    if (!stdin?.writable) {
      // A process that has just died is still being cleaned up; the reason is known only afterwards.
      await this.#process?.ended
      throw new Error(this.#closedBecause ?? 'it is not connected')
    }
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      this.#closedBecause ??= 'it does not read its input'
      await this.close()
      throw new Error(this.#closedBecause)
    }
    this.guard.sent(message, options)
    this.#writeTogether(stdin)
    if (!stdin.write(`${JSON.stringify(message)}\n`)) await this.#drain(stdin)
  }

  /** Messages of the same turn of the event loop reach the pipe in one write. */
  #writeTogether(stdin: Writable): void {
    if (stdin.writableCorked > 0) return
    stdin.cork()
    setImmediate(() => stdin.uncork())
  }

  /** Resolves once the server has read its input; concurrent writers share one wait. */
  #drain(stdin: Writable): Promise<void> {
    this.#draining ??= new Promise((resolve) => {
      const done = () => {
        stdin.off('drain', done).off('close', done)
        this.#draining = undefined
        resolve()
      }
      stdin.once('drain', done).once('close', done)
    })
    return this.#draining
  }

  async #stop(): Promise<void> {
    this.#closedBecause ??= 'it was stopped'
    const { launcher, onWarning } = this.#options
    const wasCutOff = await this.#process?.stop()
    if (launcher && wasCutOff) onWarning(describeCutOff(launcher))
    this.#closed()
  }

  #closed(): void {
    const { onclose } = this
    // Only once: the listener may close the transport again.
    delete this.onclose
    onclose?.()
  }

  #readLine(line: Buffer): void {
    if (line.length > MAX_LIST_BYTES) {
      const id = idAtStart(line.subarray(0, EDGE_BYTES)) ?? idAtEnd(line.subarray(-EDGE_BYTES))
      const refused = this.guard.isList(id) && this.guard.fail(id, tooLong(line.length, MAX_LIST_BYTES))
      if (refused) {
        this.#inOrder(() => this.#deliver(refused))
        return
      }
    }
    const message = looksLikeJson(line) ? parseJson(line.toString('utf8')) : undefined
    if (!this.#hasSpoken && message !== undefined) this.#noteFirstMessage()
    // A long message is parsed in one turn of the event loop, and checked in another: the first pause ends in the same turn.
    if (line.length > LONG_BYTES)
      this.#delivering = (this.#delivering ?? Promise.resolve()).then(turn).then(turn)
    this.#inOrder(() => {
      for (const verdict of this.#judge(message, line)) this.#deliver(verdict)
    })
  }

  #noteFirstMessage(): void {
    this.#hasSpoken = true
    if (this.#process) this.#process.isInstalling = false
    this.#options.onFirstMessage?.()
  }

  /** Waits for the messages before this one. */
  #inOrder(deliver: () => void): void {
    if (!this.#delivering) {
      deliver()
      return
    }
    const done = () => {
      if (this.#delivering === delivering) this.#delivering = undefined
    }
    const delivering: Promise<void> = this.#delivering
      .then(deliver)
      .catch((error) => this.onerror?.(error))
      .finally(done)
    this.#delivering = delivering
  }

  #judge(message: unknown, line: Buffer): readonly Verdict[] {
    if (message === undefined) return [this.#readGlued(line)]
    if (!isUtf8(line)) return [this.guard.fail(idOf(message), 'its response is not valid UTF-8')]
    return (Array.isArray(message) ? message : [message]).map((single) => this.guard.received(single))
  }

  /** A message may follow output that did not end with a line break. */
  #readGlued(line: Buffer): Verdict {
    // Most junk has no brace, and a server may write a lot of it.
    const text = line.includes(OPEN_BRACE) ? line.toString('latin1') : ''
    const starts = [...text.matchAll(RESPONSE_START)].slice(-MAX_STARTS)
    for (const { index } of starts) {
      const message = parseJson(line.subarray(index).toString('utf8'))
      // A log may quote a request.
      const isResponse = isRecord(message) && !('method' in message)
      if (isResponse && this.guard.isWaiting(message.id)) return this.guard.received(message)
    }
    this.#junkLines++
    // With growing intervals: some servers log to stdout all day.
    if (!Number.isInteger(Math.log2(this.#junkLines))) return {}
    // Shorten after masking: half a secret would not be recognised.
    const excerpt = this.#options.conceal(line.subarray(0, 4_000).toString('utf8')).slice(0, 200)
    return {
      warning: `it wrote output that is not a message, ${this.#junkLines} lines so far: ${excerpt}`,
    }
  }

  #readOverlong({ bytes, head, tail }: OverlongLine): Verdict {
    const id = idAtStart(head) ?? idAtEnd(tail) ?? (looksLikeJson(head) ? this.guard.onlyWaiting : undefined)
    return this.guard.fail(id, tooLong(bytes, this.#options.maxMessageBytes))
  }

  #deliver({ message, warning }: Verdict): void {
    if (warning !== undefined) this.#options.onWarning(warning)
    if (message !== undefined) handOn(message, this)
  }
}

function tooLong(bytes: number, most: number): string {
  return `it wrote a message of ${bytes} bytes (maximum ${most}); request less data`
}

function looksLikeJson(line: Buffer): boolean {
  for (const byte of line) {
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return true
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  }
  return false
}

function idOf(message: unknown): unknown {
  return isRecord(message) ? message.id : undefined
}

// Servers write the id before or after the long part, so the middle need not be kept to find it.
function idAtStart(head: Buffer): unknown {
  return readId(
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|-?\d+)\s*,/.exec(
      head.toString('latin1'),
    ),
  )
}

// The closing brace at the very end belongs to the message, so an id right before it is the message's own.
function idAtEnd(tail: Buffer): unknown {
  return readId(
    /,\s*"id"\s*:\s*("[^"\\]*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
      tail.toString('latin1'),
    ),
  )
}

function readId(found: RegExpExecArray | null): unknown {
  return found?.[1] === undefined ? undefined : JSON.parse(found[1])
}

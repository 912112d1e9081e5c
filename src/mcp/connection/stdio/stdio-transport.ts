import { isUtf8 } from 'node:buffer'
import type { Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { handOn, MessageGuard, type Verdict } from '../message-guard.ts'
import type { GuardedTransport, SendOptions } from '../requests.ts'
import { describeExit, type ServerCommand, ServerProcess } from './server-process.ts'

/** How to start a server, and how to treat its output. */
export interface StdioTransportOptions extends ServerCommand {
  /** Longer messages are dropped, and the calls they answer fail. */
  readonly maxMessageBytes: number
  /** Called for invalid output, which is skipped. */
  readonly onWarning: (warning: string) => void
  /** Removes secrets from server output before it is reported. */
  readonly conceal: (text: string) => string
}

const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
/** A server with more unread input than this is not going to read it. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024
/** How many positions in an invalid line are tried as the start of a message. */
const MAX_JOINTS = 8

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

  constructor(options: StdioTransportOptions) {
    this.#options = options
    this.#framer = new LineFramer({
      maxBytes: options.maxMessageBytes,
      onLine: (line, joints) => {
        for (const verdict of this.#readLine(line, joints)) this.#deliver(verdict)
      },
      onOverlong: (line) => this.#deliver(this.#readOverlong(line)),
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
    const process = await ServerProcess.start(this.#options)
    this.#process = process
    process.stdout.on('data', (chunk: Buffer) => this.#framer.push(chunk))
    process.ended.then((exit) => {
      const { command, conceal } = this.#options
      this.#closedBecause ??= describeExit(exit, command, conceal(process.lastWords))
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
    await this.#process?.stop()
    this.#closed()
  }

  #closed(): void {
    const { onclose } = this
    // Only once: the listener may close the transport again.
    delete this.onclose
    onclose?.()
  }

  #readLine(line: Buffer, joints: readonly number[]): readonly Verdict[] {
    const message = looksLikeJson(line) ? parse(line) : undefined
    if (message === undefined) return [this.#readGlued(line, joints)]
    if (!isUtf8(line)) return [this.guard.fail(idOf(message), 'its response is not valid UTF-8')]
    return (Array.isArray(message) ? message : [message]).map((single) => this.guard.received(single))
  }

  /** A message may follow output that did not end with a line break, if it arrived in a separate read. */
  #readGlued(line: Buffer, joints: readonly number[]): Verdict {
    const starts = joints.filter((at) => line[at] === OPEN_BRACE).slice(-MAX_JOINTS)
    for (const start of starts) {
      const message = parse(line.subarray(start))
      if (this.guard.isWaiting(idOf(message))) return this.guard.received(message)
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

  #readOverlong({ bytes, head, tail, glued }: OverlongLine): Verdict {
    const message = glued && parse(glued)
    if (this.guard.isWaiting(idOf(message))) return this.guard.received(message)
    const id = idAtStart(head) ?? idAtEnd(tail) ?? (looksLikeJson(head) ? this.guard.onlyWaiting : undefined)
    const most = this.#options.maxMessageBytes
    return this.guard.fail(id, `it wrote a message of ${bytes} bytes (maximum ${most}); request less data`)
  }

  #deliver({ message, warning }: Verdict): void {
    if (warning !== undefined) this.#options.onWarning(warning)
    if (message !== undefined) handOn(message, this)
  }
}

function looksLikeJson(line: Buffer): boolean {
  for (const byte of line) {
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return true
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  }
  return false
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
}

function idOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null ? Reflect.get(message, 'id') : undefined
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

/** The maximum length of a line, and what to call for each. */
export interface FramerOptions {
  /** Longer lines are dropped while they arrive. */
  readonly maxBytes: number
  /**
   * Called for a complete line. `joints` are the positions in it, after the first, where a read from the pipe began.
   */
  readonly onLine: (line: Buffer, joints: readonly number[]) => void
  readonly onOverlong: (line: OverlongLine) => void
}

/** What was kept of a line that was too long. */
export interface OverlongLine {
  readonly bytes: number
  readonly head: Buffer
  readonly tail: Buffer
  /** The part from the last read that began with a brace: a message glued to an unfinished line. */
  readonly glued: Buffer | undefined
}

const END_OF_LINE = 0x0a
const BRACE = 0x7b
const EDGE_BYTES = 1_024

/** Splits a byte stream into lines, buffering at most one line of the allowed length. */
export class LineFramer {
  readonly #options: FramerOptions
  #pieces: Buffer[] = []
  #bytes = 0
  #overlong: Remains | undefined

  constructor(options: FramerOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(END_OF_LINE); end >= 0; end = chunk.indexOf(END_OF_LINE, from)) {
      this.#take(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    if (from < chunk.length) this.#take(chunk.subarray(from))
  }

  #take(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#overlong) {
      skim(this.#overlong, piece, this.#options.maxBytes)
      return
    }
    this.#pieces.push(piece)
    if (this.#bytes <= this.#options.maxBytes) return
    const line = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#overlong = {
      head: Buffer.from(line.subarray(0, EDGE_BYTES)),
      tail: Buffer.from(line.subarray(-EDGE_BYTES)),
      glued: undefined,
      gluedBytes: 0,
    }
  }

  #endLine(): void {
    const pieces = this.#pieces
    const bytes = this.#bytes
    const overlong = this.#overlong
    this.#pieces = []
    this.#bytes = 0
    this.#overlong = undefined
    const [first] = pieces
    if (overlong)
      this.#options.onOverlong({ ...overlong, bytes, glued: overlong.glued && Buffer.concat(overlong.glued) })
    else if (pieces.length > 1) this.#options.onLine(Buffer.concat(pieces), jointsOf(pieces))
    else if (first) this.#options.onLine(first, [])
  }
}

/** What is kept of an overlong line while more of it arrives. */
interface Remains {
  readonly head: Buffer
  tail: Buffer
  glued: Buffer[] | undefined
  gluedBytes: number
}

function skim(remains: Remains, piece: Buffer, maxBytes: number): void {
  const edge = Buffer.concat([remains.tail, piece.subarray(-EDGE_BYTES)])
  remains.tail = Buffer.from(edge.subarray(-EDGE_BYTES))
  if (piece[0] === BRACE) {
    remains.glued = []
    remains.gluedBytes = 0
  }
  remains.gluedBytes += piece.length
  if (remains.gluedBytes > maxBytes) remains.glued = undefined
  remains.glued?.push(piece)
}

function jointsOf(pieces: readonly Buffer[]): number[] {
  let offset = 0
  return pieces.slice(0, -1).map((piece) => {
    offset += piece.length
    return offset
  })
}

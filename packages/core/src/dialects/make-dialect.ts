import type { Reply } from '../reply.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { Dialect, RequestInput, StreamReader } from './dialect.ts'
import { answersTo, readCalls, type WireCall } from './wire-calls.ts'
import { type ToolLimits, type WireTools, wireToolsBy } from './wire-tools.ts'

/** The provider-specific part of a dialect, given the surface in wire form. */
export interface WireForm<Message, Request, Response, StreamEvent, HostTool> {
  readonly name: string
  readonly strategy: Strategy
  readonly rules: SchemaRules
  readonly limits: ToolLimits
  /** Whether a native request never declares tools that join after the first one. */
  readonly dispatchesLateTools?: boolean
  toRequest(input: RequestInput<Message, HostTool>, tools: WireTools): Request
  /** The calls of a response, in order. */
  wireCallsOf(response: Response, tools: WireTools): readonly WireCall[]
  /** What a response says besides its calls. */
  read(response: Response, hasCalls: boolean): ReadReply
  /** The result of a call that never arrived, if the response reports one. */
  lostCallIn?(response: Response): CallResult | undefined
  toMessages(response: Response, calls: readonly AnsweredCall[], tools: WireTools): readonly Message[]
  userMessage(text: string): Message
  openStream(): StreamReader<StreamEvent, Response>
}

/** What a response says besides its calls. */
export type ReadReply = Omit<Reply, 'calls' | 'unrunnable'>

/** A call of a response, and its result. */
export interface AnsweredCall extends WireCall {
  readonly answer: CallResult
}

/** Creates a dialect from a provider's wire form. */
export function makeDialect<Message, Request, Response, StreamEvent, HostTool>(
  form: WireForm<Message, Request, Response, StreamEvent, HostTool>,
): Dialect<Message, Request, Response, StreamEvent, HostTool> {
  const wireTools = wireToolsBy(form.rules, form.limits)
  const toReply = (response: Response, surface: Surface): Reply => {
    const tools = wireTools(surface)
    const { calls, unrunnable: unread } = readCalls(form.wireCallsOf(response, tools), tools)
    const lost = form.lostCallIn?.(response)
    const unrunnable = lost ? [...unread, lost] : unread
    return { ...form.read(response, calls.length + unrunnable.length > 0), calls, unrunnable }
  }
  return {
    name: form.name,
    strategy: form.strategy,
    ...(form.limits.countsDeferred ? { maxTools: form.limits.maxTools } : {}),
    ...(form.dispatchesLateTools ? { dispatchesLateTools: true } : {}),
    toRequest: (input) => form.toRequest(input, wireTools(input.surface)),
    toReply,
    toCalls: (response, surface) => toReply(response, surface).calls,
    toMessages: (response, results, surface) => {
      const tools = wireTools(surface)
      const wireCalls = form.wireCallsOf(response, tools)
      const answers = answersTo(wireCalls, results, tools)
      const calls = answers.map((answer, index) => ({ ...(wireCalls[index] as WireCall), answer }))
      return form.toMessages(response, calls, tools)
    },
    userMessage: (text) => form.userMessage(text),
    openStream: () => form.openStream(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

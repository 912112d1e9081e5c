import type { Reply } from '../reply.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import type { Strategy } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { Dialect, RequestInput, StreamReader } from './dialect.ts'
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
  toReply(response: Response, tools: WireTools): Reply
  toMessages(response: Response, results: readonly CallResult[], tools: WireTools): readonly Message[]
  userMessage(text: string): Message
  openStream(): StreamReader<StreamEvent, Response>
}

/** Creates a dialect from a provider's wire form. */
export function makeDialect<Message, Request, Response, StreamEvent, HostTool>(
  form: WireForm<Message, Request, Response, StreamEvent, HostTool>,
): Dialect<Message, Request, Response, StreamEvent, HostTool> {
  const wireTools = wireToolsBy(form.rules, form.limits)
  return {
    name: form.name,
    strategy: form.strategy,
    ...(form.limits.countsDeferred ? { maxTools: form.limits.maxTools } : {}),
    ...(form.dispatchesLateTools ? { dispatchesLateTools: true } : {}),
    toRequest: (input) => form.toRequest(input, wireTools(input.surface)),
    toReply: (response, surface) => form.toReply(response, wireTools(surface)),
    toCalls: (response, surface) => form.toReply(response, wireTools(surface)).calls,
    toMessages: (response, results, surface) => form.toMessages(response, results, wireTools(surface)),
    userMessage: (text) => form.userMessage(text),
    openStream: () => form.openStream(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

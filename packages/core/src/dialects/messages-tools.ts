import type Anthropic from '@anthropic-ai/sdk'
import { readSearchAnswer } from '../meta-tools/answer.ts'
import type { CallResult } from '../tool.ts'
import { definitionsIn } from './search-answer.ts'
import type { WireTool, WireTools } from './wire-tools.ts'

/** Who may call a tool: the model, code it runs, or both. By registered name. */
export type MessagesCallers = Readonly<Record<string, NonNullable<Anthropic.Tool['allowed_callers']>>>

/** A surface's tools in the format of the Messages API. With thousands of tools, what requests share is computed once. */
export class MessagesTools {
  readonly wire: WireTools
  /** Late tools that are defined in the messages once found, so that `tools` never changes. */
  readonly inline: ReadonlyMap<string, WireTool>
  /** Late tools that are called through `call_tool`, so that `tools` never changes. */
  readonly dispatched: ReadonlySet<string>
  /** The deferred tools that `tools` declares. */
  readonly declared: readonly WireTool[]
  readonly #shown: ReadonlySet<string>
  readonly #callers: ReadonlyMap<string, NonNullable<Anthropic.Tool['allowed_callers']>>

  constructor(wire: WireTools, allowedCallers: MessagesCallers, inlineTools: boolean) {
    this.wire = wire
    this.inline = new Map((inlineTools ? wire.late : []).map((tool) => [tool.name, tool]))
    // Without `call_tool` (a policy may deny it) late tools can only be declared.
    const isDispatched = !inlineTools && wire.shown.some(({ name }) => name === 'call_tool')
    this.dispatched = new Set((isDispatched ? wire.late : []).map(({ name }) => name))
    const isKeptOut = isDispatched || inlineTools
    this.declared = isKeptOut
      ? wire.deferred.slice(0, wire.deferred.length - wire.late.length)
      : wire.deferred
    this.#shown = new Set(wire.shown.map(({ name }) => name))
    this.#callers = new Map(
      Object.entries(allowedCallers).map(([name, callers]) => [wire.toWireName(name), callers]),
    )
  }

  toTool({ name, description, parameters }: WireTool): Anthropic.Tool {
    const callers = this.#callers.get(name)
    const tool: Anthropic.Tool = { name, description, input_schema: parameters }
    if (callers !== undefined) tool.allowed_callers = callers
    return tool
  }

  toDeferredTool(tool: WireTool): Anthropic.Tool {
    const deferred = this.toTool(tool)
    deferred.defer_loading = true
    return deferred
  }

  /** Whether a message may refer to a tool. */
  knows(wireName: string): boolean {
    return this.wire.has(wireName)
  }

  /** Whether `tools` declares it. */
  declares(wireName: string): boolean {
    return this.knows(wireName) && !this.inline.has(wireName) && !this.dispatched.has(wireName)
  }

  /** The wire names of the deferred tools that a search found, without duplicates. */
  foundIn({ name, result }: CallResult): readonly string[] {
    if (!result.ok || !this.wire.isSearch(name)) return []
    const found = readSearchAnswer(result.structured).activated.map((tool) => this.wire.toWireName(tool))
    return [...new Set(found)].filter((tool) => this.knows(tool) && !this.#shown.has(tool))
  }

  /** What a search says of tools that are called through `call_tool`; `''` if it found none. */
  describeDispatched(answer: CallResult): string {
    const found = this.foundIn(answer).filter((name) => this.dispatched.has(name))
    if (found.length === 0) return ''
    // The answer has the current definition; the one that the tool joined with may be older.
    const shown = answer.result.ok ? definitionsIn(answer.result.structured) : new Map()
    const definitions = found.map((name) => {
      const known = this.wire.definitionOf(name)
      return shown.get(known?.name) ?? known
    })
    return `Call these with call_tool { name, arguments }: ${JSON.stringify(definitions)}`
  }

  /** Defines tools from this message on; models that bind their thinking to `tools` accept no change there. */
  toAddition(names: ReadonlySet<string>): Anthropic.MessageParam {
    const content = [...this.inline.values()]
      .filter(({ name }) => names.has(name))
      .map((tool) => ({
        type: 'tool_addition',
        tool: { type: 'tool_definition', definition: this.toTool(tool) },
      }))
    // A beta feature that the stable API's types lack.
    return { role: 'system', content } as unknown as Anthropic.MessageParam
  }
}

import type OpenAI from 'openai'
import type { Namespace } from './namespaces.ts'
import type { WireTool, WireTools } from './wire-tools.ts'

/** Who may call a tool: the model, a program it writes, or both. By registered name. */
export type ResponsesCallers = Readonly<Record<string, ('direct' | 'programmatic')[]>>

/** A surface's tools in the format of the Responses API. */
export class ResponsesTools {
  readonly wire: WireTools
  readonly #callers: ReadonlyMap<string, ('direct' | 'programmatic')[]>

  constructor(wire: WireTools, allowedCallers: ResponsesCallers) {
    this.wire = wire
    this.#callers = new Map(
      Object.entries(allowedCallers).map(([name, callers]) => [wire.toWireName(name), callers]),
    )
  }

  toTool(tool: WireTool): OpenAI.Responses.Tool {
    // Only deferred tools need the provider's own search; otherwise the search tool is an ordinary function.
    const isNativeSearch = this.wire.deferred.length > 0 && this.wire.isSearch(tool.name)
    if (!isNativeSearch) return this.#toFunction(tool)
    const { description, parameters } = tool
    return { type: 'tool_search', execution: 'client', description, parameters }
  }

  toNamespace({ name, description, tools }: Namespace): OpenAI.Responses.NamespaceTool {
    return {
      type: 'namespace',
      name,
      description,
      tools: tools.map((tool) => ({ ...this.#toFunction(tool), defer_loading: true })),
    }
  }

  #toFunction({ name, description, parameters }: WireTool): OpenAI.Responses.FunctionTool {
    const callers = this.#callers.get(name)
    return {
      type: 'function',
      name,
      description,
      parameters,
      strict: false,
      ...(callers === undefined ? {} : { allowed_callers: callers }),
    }
  }
}

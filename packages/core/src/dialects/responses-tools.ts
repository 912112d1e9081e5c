import type OpenAI from 'openai'
import { ToolcribError } from '../errors.ts'
import { type Namespace, Namespaces } from './namespaces.ts'
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

  /** Throws `config-invalid` if one of the host's tools is one of the session's: the API rejects such a request. */
  checkHostTools(hostTools: readonly OpenAI.Responses.Tool[]): void {
    this.wire.checkHostNames(hostTools.map((tool) => (tool.type === 'function' ? tool.name : undefined)))
    if (!this.wire.shown.some((tool) => this.#isNativeSearch(tool))) return
    if (hostTools.every(({ type }) => type !== 'tool_search')) return
    const problem = 'the session uses the tool search of the Responses API itself'
    const step = 'leave out the host\'s tool_search, or open the session with strategy "dispatch"'
    throw new ToolcribError('config-invalid', `${problem}; ${step}`)
  }

  /** Whether a function is shown from the start. */
  shows(wireName: string): boolean {
    return this.wire.shown.some(({ name }) => name === wireName)
  }

  get namespaces(): Namespaces {
    return Namespaces.of(this.wire.deferred)
  }

  toTool(tool: WireTool): OpenAI.Responses.Tool {
    if (!this.#isNativeSearch(tool)) return this.#toFunction(tool)
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

  /** Only deferred tools need the provider's own search; otherwise the search tool is an ordinary function. */
  #isNativeSearch({ name }: WireTool): boolean {
    return this.wire.hasDeferred && this.wire.isSearch(name)
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

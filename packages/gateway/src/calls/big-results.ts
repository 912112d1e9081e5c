import { estimateTokens, jsonReducer, type Spill, type ToolResult } from '@toolcrib/core'
import { keepEnds, readResult, shareBudget } from '@toolcrib/core/internal'
import type { ConnectedServers } from '@toolcrib/mcp'
import { type Store, storeSpill } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'
import type { NamedTool } from '../lists/tool-names.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { answerOf, failed } from './call-answer.ts'

/** The tool that reads on in a result that was shortened. */
export const READ_RESULT = 'read_result'

const KEPT_MS = 60 * 60_000
/** Longer JSON is not parsed, and more of a text not counted: other clients would wait. */
const MAX_PARSED_CHARS = 1_000_000
const COUNTED_CHARS = 100_000

/** The tool that answered. */
interface Answerer {
  readonly tool: NamedTool | undefined
  /** Whether it was called through a dispatch tool. */
  readonly isDispatched: boolean
}

/** Shortens the text of results that are larger than the config allows, and keeps the whole for `read_result`. */
export class BigResults {
  readonly #servers: ConnectedServers
  readonly #spill: Spill
  readonly #limits: Pick<Limits, 'maxResultTokens'>

  constructor(servers: ConnectedServers, store: Store, limits: Pick<Limits, 'maxResultTokens'>) {
    this.#servers = servers
    this.#spill = storeSpill(store, { ttlMs: KEPT_MS })
    this.#limits = limits
  }

  /** Whether any result is shortened for clients of this view: they are then shown `read_result`. */
  isOn(view: ProfileView): boolean {
    const servers = this.#servers.status().map(({ server }) => server)
    return [undefined, ...servers.filter((server) => view.permitsServer(server))].some(
      (server) => this.#limitOf(server, view) > 0,
    )
  }

  /** A result as its client gets it. Errors, what is not text and results with a user interface stay whole. */
  async shortened(
    answer: Json,
    { tool, isDispatched }: Answerer,
    { view, principal }: { readonly view: ProfileView; readonly principal: string },
  ): Promise<Json> {
    const limit = this.#limitOf(tool?.server, view)
    const { content, isError, _meta: meta, structuredContent: structured, ...rest } = answer
    if (limit === 0 || isError === true || !Array.isArray(content)) return answer
    const listed = tool?.server === undefined ? undefined : this.#servers.tools(tool.server)
    const definition = listed?.find(({ name }) => name === tool?.ownName)
    if ([meta, definition?._meta].some((about) => isJson(about) && about.ui !== undefined)) return answer
    const sizes = content.map((block) => tokensOf(textOf(block)))
    if (sizes.reduce((sum, size) => sum + size, 0) <= limit) return answer
    const shares = shareBudget(
      limit,
      sizes.map((chars) => ({ chars })),
    )
    try {
      const blocks = content.map(async (block: unknown, at) => {
        const [size = 0, share = 0] = [sizes[at], shares[at]]
        if (!isJson(block) || size <= share) return [block]
        const text = textOf(block)
        const handle = await this.#spill.put(principal, text)
        return shorten(text, { size, share, handle }).map((shown) => ({ ...block, text: shown }))
      })
      return {
        ...rest,
        content: (await Promise.all(blocks)).flat(),
        ...(meta === undefined ? {} : { _meta: meta }),
        // A client that was shown the schema of what a tool returns would refuse the result without it.
        ...(!isDispatched && definition?.outputSchema ? { structuredContent: structured } : {}),
      }
    } catch {
      // What cannot be kept must not be cut.
      return answer
    }
  }

  /** Answers `read_result`. A client reads only what the same token was answered. */
  async read(args: unknown, principal: string): Promise<Json> {
    const given = isJson(args) ? args : {}
    const { handle, offset, limit, pattern } = given
    const isNumber = (value: unknown) => value === undefined || Number.isInteger(value)
    if (
      typeof handle !== 'string' ||
      !isNumber(offset) ||
      !isNumber(limit) ||
      typeof (pattern ?? '') !== 'string'
    )
      return failed(
        `${READ_RESULT} takes { handle: text, offset?: integer, limit?: integer, pattern?: text }; the shortened result names the handle.`,
      )
    const tool = this.#tool(principal)
    const context = {
      ...{ sessionId: principal, toolCallId: READ_RESULT, turnCount: 0 },
      resultLimitChars: Number.MAX_SAFE_INTEGER,
      signal: new AbortController().signal,
      context: undefined,
    }
    const { structured: _, ...result } = (await tool.execute({ ...given, handle }, context)) as ToolResult
    return answerOf(result as ToolResult)
  }

  /** `read_result` as clients list it. */
  get definition(): { readonly name: string } & Json {
    const { name, description, inputSchema, annotations } = this.#tool('')
    return { name, description, inputSchema, annotations }
  }

  #tool(principal: string) {
    return readResult({ spill: this.#spill, sessionId: principal })
  }

  /** The server's own limit comes first, then the profile's; 0 is none. */
  #limitOf(server: string | undefined, view: ProfileView): number {
    const own = server === undefined ? undefined : this.#servers.maxResultTokens(server)
    return own ?? view.maxResultTokens ?? this.#limits.maxResultTokens
  }
}

/** A text within its share, with where the whole is: JSON stays JSON, other text keeps its beginning and its end. */
function shorten(
  text: string,
  { size, share, handle }: { readonly size: number; readonly share: number; readonly handle: string },
): readonly string[] {
  const whole = `${READ_RESULT} with handle "${handle}" has all of it`
  if (text.length <= MAX_PARSED_CHARS)
    for (const sampleItems of [5, 1]) {
      const reducer = jsonReducer({
        toolName: '',
        sampleItems,
        maxItems: sampleItems * 4,
        maxTextChars: 400 * sampleItems,
      })
      const reduced = reducer.reduce({ ok: true, value: text }, { args: {}, turnCount: 0 })
      if (reduced?.ok && tokensOf(reduced.value) <= share)
        return [reduced.value, `[${text.length} characters were shortened: ${whole}]`]
    }
  return [keepEnds(text, Math.floor((text.length * share) / size), whole)]
}

function tokensOf(text: string): number {
  if (text.length <= COUNTED_CHARS) return estimateTokens(text)
  return Math.ceil((estimateTokens(text.slice(0, COUNTED_CHARS)) * text.length) / COUNTED_CHARS)
}

function textOf(block: unknown): string {
  return isJson(block) && block.type === 'text' && typeof block.text === 'string' ? block.text : ''
}

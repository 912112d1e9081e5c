import type { ContentBlock, JsonSchema, ToolResult } from '@toolcrib/core'
import { type CheckedOutput, isRecord, loadSchemaChecks, type SchemaCache } from '@toolcrib/core/internal'
import { visibleData } from '../connection/visible-message.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import type { ServerState } from './server-state.ts'

/** Converts the responses of one server's tools to results, and reports those that break their schema. */
export class ToolResults {
  readonly #state: ServerState
  /** Loaded with the first result to check. */
  #checker: Awaited<ReturnType<typeof loadSchemaChecks>> | undefined
  #outputSchemas: SchemaCache | undefined

  constructor(state: ServerState) {
    this.#state = state
  }

  async of(response: unknown, { name, outputSchema }: ServerTool, toolCallId: string): Promise<ToolResult> {
    const place = { tool: name, toolCallId }
    const check = outputSchema === undefined ? undefined : await this.#checkerOf(outputSchema)
    const result = toToolResult(response, (structured) =>
      check === undefined ? FINE : this.#describeOutput(check(structured), place),
    )
    if (outputSchema !== undefined && result.ok && result.structured === undefined)
      this.#state.emit({ type: 'output-mismatch', ...place, faults: NOTHING_STRUCTURED })
    const isTrusted = this.#state.config.trust ?? false
    if (result.meta) this.#state.emit({ type: 'result-meta', ...place, meta: result.meta, isTrusted })
    return result
  }

  /** Validates structured content against the declared schema, as far as that is possible in bounded time. */
  async #checkerOf(outputSchema: JsonSchema): Promise<(structured: unknown) => CheckedOutput> {
    // Kept here: importing a loaded module again still takes time.
    this.#checker ??= await loadSchemaChecks()
    const { checkOutput, SchemaCache } = this.#checker
    this.#outputSchemas ??= new SchemaCache()
    // What is removed from results is removed from their schema, so that they still match.
    const schema = this.#state.config.lossless ? outputSchema : visibleData(outputSchema)
    if (this.#outputSchemas.lacksRareChecks(schema)) await this.#outputSchemas.loadRareChecks()
    const compiled = this.#outputSchemas.compile(schema, () => {})
    return (structured) => checkOutput(compiled, structured)
  }

  /** Reports what is wrong with structured content, and describes it for the model. */
  #describeOutput(
    checked: CheckedOutput,
    place: { readonly tool: string; readonly toolCallId: string },
  ): OutputCheck {
    if (checked.kind === 'invalid') {
      this.#state.emit({ type: 'output-mismatch', ...place, faults: checked.error })
      return { kind: 'faulty', faults: checked.error }
    }
    if (checked.kind === 'unchecked')
      this.#state.emit({ type: 'output-unchecked', ...place, reason: checked.reason })
    return FINE
  }
}

const NOTHING_STRUCTURED = 'structured content is missing, but its output schema requires it'

/**
 * The outcome of validating structured content against its schema. Content that could not be checked counts as valid.
 */
export type OutputCheck = { readonly kind: 'fine' } | { readonly kind: 'faulty'; readonly faults: string }

/**
 * Converts a server's response to a tool result: `value` is its text, `content` its blocks, `structured` its
 * structured content, `meta` its `_meta`, all unchanged. A response with `isError` becomes a failure with that text.
 */
export function toToolResult(answer: unknown, checkOutput: (structured: unknown) => OutputCheck): ToolResult {
  if (!isRecord(answer)) return failed('its response is not a tool result')
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isBlock) : []
  const meta = metaOf(answer)
  // The first protocol revision called the whole result `toolResult`.
  const structured = answer.structuredContent ?? answer.toolResult
  const text = textOf(blocks, structured)
  if (answer.isError === true) return { ...toFailure(text, blocks, structured), ...meta }
  const check = structured === undefined ? FINE : checkOutput(structured)
  const note =
    check.kind === 'fine' ? undefined : `[structured content does not match its schema: ${check.faults}]`
  const content = note === undefined ? blocks : [...blocks, { type: 'text', text: note } as const]
  return {
    ok: true,
    value: [text, note].filter((part) => part !== undefined && part !== '').join('\n'),
    ...(content.length > 0 ? { content } : {}),
    ...(structured === undefined ? {} : { structured }),
    ...meta,
  }
}

const FINE: OutputCheck = { kind: 'fine' }

/** The protocol's own mark of the server: the same on every result, and already known. */
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

function metaOf({ _meta }: Record<string, unknown>): Pick<ToolResult, 'meta'> {
  if (!isRecord(_meta)) return {}
  const { [SERVER_INFO]: _, ...rest } = _meta
  return Object.keys(rest).length === 0 ? {} : { meta: rest }
}

function toFailure(text: string, blocks: readonly ContentBlock[], structured: unknown): ToolResult {
  const kept = blocks.every(isPlainText) ? structured : withBlocks(structured, blocks)
  return {
    ...failed(text || 'it failed without a message'),
    ...(kept === undefined ? {} : { structured: kept }),
  }
}

/** True for a block that loses nothing when only its text is kept. */
function isPlainText(block: ContentBlock): boolean {
  return block.type === 'text' && Object.keys(block).every((key) => key === 'type' || key === 'text')
}

/** A failure has no field for blocks, so they are kept beside its structured content. */
function withBlocks(structured: unknown, content: readonly ContentBlock[]): Record<string, unknown> {
  if (structured === undefined) return { content }
  return isRecord(structured) && !('content' in structured)
    ? { ...structured, content }
    : { structuredContent: structured, content }
}

function failed(error: string): ToolResult {
  return { ok: false, code: 'execution_failed', error }
}

function isBlock(block: unknown): block is ContentBlock {
  return isRecord(block) && typeof block.type === 'string'
}

/**
 * The text for the model: text blocks and text resources; otherwise the structured content; otherwise a summary of
 * the other blocks.
 */
function textOf(blocks: readonly ContentBlock[], structured: unknown): string {
  const texts = blocks.map(blockText).filter((text) => text !== undefined)
  if (texts.length > 0) return texts.join('\n')
  if (structured !== undefined) return JSON.stringify(structured)
  return blocks.map(describeBlock).join('\n')
}

function blockText(block: ContentBlock): string | undefined {
  if (block.type === 'text') return String(block.text ?? '')
  if (block.type === 'resource' && typeof block.resource?.text === 'string') return block.resource.text
  return undefined
}

function describeBlock(block: ContentBlock): string {
  if (block.type === 'resource_link') return `[${block.name}: ${block.uri}]`
  if (block.type === 'resource') return `[resource ${block.resource?.uri}]`
  const { type, mimeType } = block as { type: string; mimeType?: unknown }
  return typeof mimeType === 'string' ? `[${type}, ${mimeType}]` : `[${type}]`
}

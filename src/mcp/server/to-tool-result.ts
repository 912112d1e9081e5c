import { isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import type { ContentBlock, ToolResult } from '../../tool.ts'

/**
 * The outcome of validating structured content against its schema. Content that could not be checked counts as valid.
 */
export type OutputCheck = { readonly kind: 'fine' } | { readonly kind: 'faulty'; readonly faults: string }

/**
 * Converts a server's response to a tool result: `value` is its text, `content` its blocks, `structured` its
 * structured content, `meta` its `_meta`, all unchanged except that hidden characters are removed before they reach
 * the model. A response with `isError` becomes a failure with that text.
 */
export function toToolResult(answer: unknown, checkOutput: (structured: unknown) => OutputCheck): ToolResult {
  if (!isRecord(answer)) return failed('its response is not a tool result')
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isBlock).map(cleanBlock) : []
  const meta = metaOf(answer)
  // The first protocol revision called the whole result `toolResult`.
  const structured = cleanData(answer.structuredContent ?? answer.toolResult)
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

/** The protocol's own server mark: the same on every result of a server, and known already. */
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

function metaOf({ _meta }: Record<string, unknown>): Pick<ToolResult, 'meta'> {
  if (!isRecord(_meta)) return {}
  const { [SERVER_INFO]: _, ...rest } = _meta
  if (Object.keys(rest).length === 0) return {}
  const meta = cleanData(rest)
  return isRecord(meta) ? { meta } : {}
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

/** Bytes are left unchanged: Base64 cannot hide characters, and there may be megabytes of it. */
const BYTES: ReadonlySet<string> = new Set(['data', 'blob'])

function cleanBlock(block: ContentBlock): ContentBlock {
  const fields = Object.entries(block).map(([key, value]) => {
    if (BYTES.has(key)) return [key, value]
    if (key === 'resource' && isRecord(value) && 'blob' in value) {
      const { blob, ...rest } = value
      return [key, { ...(cleanData(rest) as object), blob }]
    }
    return [key, cleanData(value)]
  })
  return Object.fromEntries(fields)
}

/** Removes hidden characters from strings and keys. */
function cleanData(data: unknown): unknown {
  if (typeof data === 'string') return withoutHidden(data)
  if (Array.isArray(data)) return data.map(cleanData)
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [withoutHidden(key), cleanData(value)]),
  )
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

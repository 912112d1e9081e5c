import type { ToolCall } from '../tool.ts'

/** Reads the calls of a batch, whatever was given. */
export function readCalls(calls: unknown): ToolCall[] {
  try {
    return Array.isArray(calls) ? Array.from(calls, readCall) : []
  } catch {
    return []
  }
}

/** Reads a call. Missing fields become empty text, so that it still gets a result. */
function readCall(given: unknown): ToolCall {
  try {
    const { toolCallId, name, args } = given as { [key: string]: unknown }
    return { toolCallId: asText(toolCallId), name: asText(name), args }
  } catch {
    return { toolCallId: '', name: '', args: undefined }
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

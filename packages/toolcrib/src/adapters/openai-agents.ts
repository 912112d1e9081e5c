/** `toolcrib/openai-agents`: the tools of a session for OpenAI's Agents SDK. */
import { type Tool, tool } from '@openai/agents'
import type { Session } from '@toolcrib/core'
import { type AdapterOptions, executableTools, textAndImages } from './executable-tools.ts'

export type { AdapterOptions } from './executable-tools.ts'

/**
 * Returns the tools of a session for an agent of the SDK. Calls run in the session; the model gets text and images, and
 * failures as text. `needsApproval` becomes the SDK's interruptions.
 *
 * Throws `config-invalid` for a session that was not opened with `strategy: 'dispatch'`, unless nothing is deferred.
 *
 * @example
 * ```ts
 * import { Agent } from '@openai/agents'
 * import { ToolRegistry } from 'toolcrib'
 * import { toAgentsTools } from 'toolcrib/openai-agents'
 *
 * const registry = new ToolRegistry({ strategy: 'dispatch' })
 * const session = await registry.openSession()
 * const agent = new Agent({ name: 'helper', instructions: session.promptNote(), tools: toAgentsTools(session) })
 * ```
 */
export function toAgentsTools(session: Session, options: AdapterOptions = {}): Tool[] {
  return executableTools(session, options).map(({ name, description, inputSchema, execute, needsApproval }) =>
    tool({
      name,
      description,
      strict: false,
      // Open, as the SDK requires: the session checks arguments against the tool's own schema.
      parameters: {
        ...inputSchema,
        properties: inputSchema.properties as Record<string, object>,
        required: inputSchema.required ?? [],
        additionalProperties: true,
      },
      needsApproval: async (_context, input) => needsApproval?.(input) ?? false,
      async execute(input, _context, details) {
        const toolCallId = details?.toolCall?.callId ?? name
        const { text, images } = textAndImages(
          await execute(input, { toolCallId, abortSignal: details?.signal }),
        )
        if (images.length === 0) return text
        return [
          { type: 'text' as const, text },
          ...images.map(({ data, mimeType }) => ({
            type: 'image' as const,
            image: { data, mediaType: mimeType },
          })),
        ]
      },
    }),
  )
}

/** `toolcrib/langchain`: the tools of a session for LangChain and LangGraph. */
import { DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import type { Session } from '@toolcrib/core'
import { type AdapterOptions, executableTools, textAndImages } from './executable-tools.ts'

export type { AdapterOptions } from './executable-tools.ts'

/**
 * Returns the tools of a session for LangChain. Calls run in the session; the model gets text and images, your code the
 * structured content as the message's `artifact`. A failure is text for the model. With `needsApproval`, each tool has
 * `metadata.needsApproval(input)`, for a loop or an interrupt that asks a person.
 *
 * Throws `config-invalid` for a session that was not opened with `strategy: 'dispatch'`, unless nothing is deferred.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from 'toolcrib'
 * import { toLangChainTools } from 'toolcrib/langchain'
 *
 * const registry = new ToolRegistry({ strategy: 'dispatch' })
 * const tools = toLangChainTools(await registry.openSession())
 * ```
 */
export function toLangChainTools(session: Session, options: AdapterOptions = {}): DynamicStructuredTool[] {
  return executableTools(session, options).map(
    ({ name, description, inputSchema, execute, needsApproval }) =>
      new DynamicStructuredTool({
        name,
        description,
        schema: inputSchema,
        responseFormat: 'content_and_artifact',
        ...(needsApproval ? { metadata: { needsApproval } } : {}),
        async func(input: unknown, _manager, config?: ToolRunnableConfig) {
          const toolCallId = config?.toolCall?.id ?? name
          const result = await execute(input, { toolCallId, abortSignal: config?.signal })
          const { text, images } = textAndImages(result)
          const blocks = images.map(({ data, mimeType }) => ({ type: 'image', mimeType, data }))
          const content = blocks.length > 0 ? [{ type: 'text', text }, ...blocks] : text
          return [content, result.structured]
        },
      }),
  )
}

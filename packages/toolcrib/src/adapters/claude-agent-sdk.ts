/** `toolcrib/claude-agent-sdk`: the tools of a session as a server in the process of the Claude Agent SDK. */
import { type Tool as ListedTool, Server } from '@modelcontextprotocol/server'
import type { Session, ToolResult } from '@toolcrib/core'
import { executableTools, textAndImages } from './executable-tools.ts'

/** An entry of `mcpServers`, as `createSdkMcpServer()` of the SDK returns it. */
export interface SdkServer<Instance> {
  readonly type: 'sdk'
  readonly name: string
  readonly instance: Instance
}

/**
 * Returns the tools of a session as an entry of `mcpServers`. Calls run in the session; the SDK asks for permissions by the
 * tools' annotations and its own rules.
 *
 * Throws `config-invalid` for a session that was not opened with `strategy: 'dispatch'`, unless nothing is deferred.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from 'toolcrib'
 * import { toSdkServer } from 'toolcrib/claude-agent-sdk'
 *
 * const registry = new ToolRegistry({ strategy: 'dispatch' })
 * const session = await registry.openSession()
 * const mcpServers = { toolcrib: toSdkServer(session) }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the SDK types its servers by a class of its own, with private fields.
export function toSdkServer(session: Session, { name = 'toolcrib' } = {}): SdkServer<any> {
  const tools = new Map(executableTools(session, {}).map((tool) => [tool.name, tool]))
  const instructions = session.promptNote()
  const server = new Server(
    { name, version: '1.0.0' },
    { capabilities: { tools: {} }, ...(instructions ? { instructions } : {}) },
  )
  const annotationsOf = (name: string) =>
    session.scope().resolve({ toolCallId: '', name, args: {} })?.entry.tool.annotations
  server.setRequestHandler('tools/list', async () => ({
    tools: [...tools.values()].map(({ name, description, inputSchema }): ListedTool => {
      const annotations = annotationsOf(name)
      return {
        name,
        description,
        inputSchema: inputSchema as ListedTool['inputSchema'],
        ...(annotations ? { annotations } : {}),
      }
    }),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.get(params.name)
    const result: ToolResult = tool
      ? await tool.execute(params.arguments ?? {}, {
          toolCallId: String(mcpReq.id),
          abortSignal: mcpReq.signal,
        })
      : { ok: false, code: 'not_available', error: `Unknown tool: ${params.name}` }
    const { text, images } = textAndImages(result)
    const blocks = images.map((image) => ({ type: 'image' as const, ...image }))
    return { content: [{ type: 'text' as const, text }, ...blocks], isError: !result.ok }
  })
  return { type: 'sdk', name, instance: server }
}

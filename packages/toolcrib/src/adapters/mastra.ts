/** `toolcrib/mastra`: the tools of a session for Mastra. */
import type { Session, ToolResult } from '@toolcrib/core'
import type { AiSdkOutput } from '@toolcrib/core/ai-sdk'
import { type AdapterOptions, executableTools } from './executable-tools.ts'

export type { AdapterOptions } from './executable-tools.ts'

/** A tool as Mastra takes it from the AI SDK. */
export interface MastraTool {
  readonly description: string
  readonly parameters: object
  /** Whether a person must approve this call; decided for the tool that it reaches. */
  readonly requireApproval: (input: unknown) => boolean
  readonly execute: (
    input: unknown,
    options: { toolCallId: string; abortSignal?: AbortSignal | undefined },
  ) => Promise<ToolResult>
  readonly toModelOutput: (output: unknown) => AiSdkOutput
}

/**
 * Returns the tools of a session for an agent of Mastra, by name. Calls run in the session; the model gets text and
 * images, your code the whole result. `needsApproval` becomes Mastra's `requireApproval`.
 *
 * `jsonSchema` is that of the `ai` package, by which Mastra recognises the schemas. Throws `config-invalid` for a session
 * that was not opened with `strategy: 'dispatch'`, unless nothing is deferred.
 *
 * @example
 * ```ts
 * import { jsonSchema } from 'ai-v7' // "ai" in your project
 * import { ToolRegistry } from 'toolcrib'
 * import { toMastraTools } from 'toolcrib/mastra'
 *
 * const registry = new ToolRegistry({ strategy: 'dispatch' })
 * const tools = toMastraTools(await registry.openSession(), { jsonSchema })
 * ```
 */
export function toMastraTools(
  session: Session,
  { jsonSchema, ...options }: AdapterOptions & { readonly jsonSchema: (schema: object) => object },
): Record<string, MastraTool> {
  const entries = executableTools(session, options).map(
    ({ name, description, inputSchema, needsApproval, execute, toModelOutput }): [string, MastraTool] => [
      name,
      {
        description,
        parameters: jsonSchema(inputSchema),
        requireApproval: (input) => needsApproval?.(input) ?? false,
        execute,
        toModelOutput: (output) => toModelOutput({ output: output as ToolResult }),
      },
    ],
  )
  return Object.fromEntries(entries)
}

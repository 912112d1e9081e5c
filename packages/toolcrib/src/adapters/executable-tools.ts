import { type Session, ToolcribError, type ToolResult } from '@toolcrib/core'
import { aiSdk, type ExecutableToolsOptions } from '@toolcrib/core/ai-sdk'

export type AdapterOptions = ExecutableToolsOptions

/** A dialect without a provider: plain JSON Schemas, and names that every provider accepts. */
const plain = aiSdk({ jsonSchema: (schema) => schema })

/**
 * The tools of a session with executors, for frameworks that read the tools of an agent once. Throws `config-invalid` for
 * a session whose surface grows: the framework would not see what the search finds.
 */
export function executableTools(session: Session, options: AdapterOptions) {
  const { strategy, deferredCount } = session.surface()
  if (strategy !== 'dispatch' && deferredCount > 0)
    throw new ToolcribError(
      'config-invalid',
      'the framework reads the tools once: open the session with { strategy: "dispatch" }',
    )
  return Object.entries(plain.toExecutableTools(session, options)).map(([name, tool]) => ({ name, ...tool }))
}

/** Text, and the images of a result if it has any. */
export function textAndImages(result: ToolResult): {
  readonly text: string
  readonly images: readonly { readonly data: string; readonly mimeType: string }[]
} {
  if (!result.ok) return { text: `Error (${result.code}): ${result.error}`, images: [] }
  const images = (result.content ?? []).flatMap((block) => (block.type === 'image' ? [block] : []))
  return { text: result.value, images }
}

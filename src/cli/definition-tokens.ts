import type { TokenCounter, ToolDefinition } from 'toolcrib'

/** What definitions cost a model, one by one as `session.context()` counts them, so that sums agree everywhere. */
export function definitionTokens(tools: readonly ToolDefinition[], countTokens: TokenCounter): number {
  return tools.reduce(
    (sum, { name, description, parameters }) =>
      sum + countTokens(JSON.stringify({ name, description, parameters })),
    0,
  )
}

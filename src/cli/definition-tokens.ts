import type { TokenCounter, ToolDefinition } from 'toolcrib'

/** Counts the tokens of definitions one by one, like `session.context()`, so that sums agree everywhere. */
export function definitionTokens(tools: readonly ToolDefinition[], countTokens: TokenCounter): number {
  return tools.reduce(
    (sum, { name, description, parameters }) =>
      sum + countTokens(JSON.stringify({ name, description, parameters })),
    0,
  )
}

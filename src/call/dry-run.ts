import { maskArguments } from '../secrets/mask-arguments.ts'
import type { ToolResult } from '../tool.ts'

/** The answer of a call that only says what it would do. Secrets in its arguments are masked. */
export function dryRunResult(toolName: string, args: unknown): ToolResult {
  const shown = maskArguments(args)
  return {
    ok: true,
    value: `[dry run] ${toolName} would run with ${JSON.stringify(shown)}`,
    structured: { dryRun: true, name: toolName, args: shown },
  }
}

import type { ToolResult } from '../tool.ts'
import { type Mask, maskNamedSecrets, maskResult } from './mask.ts'

/** The answer of a call that only says what it would do. Secrets in its arguments are masked. */
export function dryRunResult(toolName: string, args: unknown, mask: Mask | undefined): ToolResult {
  const shown = maskNamedSecrets(args)
  const result: ToolResult = {
    ok: true,
    value: `[dry run] ${toolName} would run with ${JSON.stringify(shown)}`,
    structured: { dryRun: true, name: toolName, args: shown },
  }
  return mask ? maskResult(result, mask) : result
}

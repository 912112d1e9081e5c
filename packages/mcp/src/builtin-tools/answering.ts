import type { ToolContext, ToolResult } from '@toolcrib/core'
import { CapabilityError, type CapabilityHandles, type CapabilityName } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'

/** Runs a tool's work and converts thrown errors into results the model can act on. */
export function answering<Input>(
  work: (input: Input, ctx: ToolContext) => Promise<ToolResult>,
): (input: Input, ctx: ToolContext) => Promise<ToolResult> {
  return async (input, ctx) => {
    try {
      return await work(input, ctx)
    } catch (thrown) {
      if (thrown instanceof CapabilityError) return failure(thrown.message, thrown.code)
      if (ctx.signal.aborted) return failure('the call was cancelled', 'cancelled')
      return failure(describeError(thrown))
    }
  }
}

/** The handle of a declared capability. It is missing only if the tool runs outside a registry. */
export function granted<Name extends CapabilityName>(
  ctx: ToolContext,
  name: Name,
): NonNullable<CapabilityHandles[Name]> {
  const handle = ctx[name]
  if (handle) return handle
  throw new CapabilityError(
    'not_available',
    `no backend grants ${name}; pass one in the registry's capabilities option`,
  )
}

/** An error for invalid input that the model can correct. */
export function invalid(message: string, options?: { cause?: unknown }): CapabilityError {
  return new CapabilityError('input_invalid', message, options)
}

export function success(value: string, structured?: unknown): ToolResult {
  return { ok: true, value, ...(structured === undefined ? {} : { structured }) }
}

export function failure(error: string, code = 'execution_failed'): ToolResult {
  return { ok: false, error, code }
}

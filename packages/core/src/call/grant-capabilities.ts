import {
  type CapabilityBackends,
  CapabilityError,
  type CapabilityHandles,
  type CapabilityName,
  type CapabilityRequest,
  type CapabilityScope,
  declaredNames,
} from '../capability.ts'
import { describeError } from '../errors.ts'
import type { Returned, Tool, ToolContext } from '../tool.ts'
import { failure } from '../tool-result.ts'
import type { Batch } from './batch.ts'

/** Executes a tool with what it declares, where the backends grant it. */
export async function runGranted(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  { settings, attachments }: Batch,
): Promise<Returned> {
  const { sessionId, signal } = context
  let handles: CapabilityHandles
  try {
    const scope = { tool: tool.name, sessionId, signal, attachments, context: context.context }
    handles = await openCapabilities(tool.capabilities, settings.backends, scope)
  } catch (thrown) {
    const code = thrown instanceof CapabilityError ? thrown.code : 'not_available'
    return failure(code, `"${tool.name}" was not granted what it needs: ${describeError(thrown)}`)
  }
  return tool.execute(args, { ...handles, ...context })
}

/** A handle for each declared capability, from its backend. A backend that refuses throws. */
export async function openCapabilities(
  request: CapabilityRequest | undefined,
  backends: CapabilityBackends,
  scope: CapabilityScope,
): Promise<CapabilityHandles> {
  const opened = declaredNames(request).map(async (name) => [name, await open(name)] as const)
  return Object.fromEntries(await Promise.all(opened))

  function open<Name extends CapabilityName>(name: Name) {
    const declared = request?.[name]
    const backend = backends[name]
    if (!declared || !backend) throw new Error(`no backend grants ${name}`)
    return backend.open(declared, scope)
  }
}

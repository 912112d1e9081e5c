import type { ToolCall, ToolResult } from '../tool.ts'
import { failure } from './answers.ts'
import type { CallEnvironment, CallTarget } from './call-environment.ts'
import { missingCapabilities } from './open-capabilities.ts'

/** The target of a call that may run; or why it may not, as its answer. */
export type Permission =
  | { readonly target: CallTarget }
  | { readonly refusal: ToolResult; readonly target?: CallTarget }

/** Resolves a call's name and asks each gate in turn: policy, availability, capabilities. */
export function permitCall(call: ToolCall, environment: CallEnvironment): Permission {
  const target = environment.resolve(call)
  if (target === undefined) return { refusal: unknownTool(call.name, environment) }
  const { tool } = target
  const gate = environment.denial(target)
  if (gate !== undefined)
    return { target, refusal: notAvailable(`"${tool.name}" is not permitted here: ${gate}`) }
  if (!environment.settings.isAvailable(tool)) {
    return {
      target,
      refusal: notAvailable(`"${tool.name}" is not currently available`),
    }
  }
  const missing = missingCapabilities(tool.capabilities, environment.settings.backends)
  if (missing.length > 0) {
    return {
      target,
      refusal: notAvailable(`"${tool.name}" needs ${missing.join(', ')}, which this host does not grant`),
    }
  }
  return { target }
}

function unknownTool(name: string, environment: CallEnvironment): ToolResult {
  const close = environment.suggest(name).slice(0, 5)
  const suggestion = close.length > 0 ? ` Close names: ${close.join(', ')}.` : ''
  const nextStep = environment.searchToolName ? ` Find tools with ${environment.searchToolName}.` : ''
  return notAvailable(`Unknown tool: ${name === '' ? '(no name)' : name}.${suggestion}${nextStep}`)
}

function notAvailable(error: string): ToolResult {
  return failure('not_available', error)
}

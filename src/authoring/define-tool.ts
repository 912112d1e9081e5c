import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { CAPABILITY_RULES, type CapabilityRequest } from '../capability.ts'
import {
  anyFunction,
  anyObject,
  anyText,
  checkOptions,
  either,
  type OptionRules,
  optionsWith,
  required,
  trueOrFalse,
} from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { type JsonSchema, TOOL_FIELD_RULES, type Tool, type ToolContext, type ToolResult } from '../tool.ts'
import type { InferSchema } from './infer-schema.ts'
import { valibotJsonSchema } from './valibot-schema.ts'
import { wrapResult } from './wrap-result.ts'

/** A JSON Schema, or a schema from zod, valibot, arktype or any other library that implements Standard Schema. */
export type SchemaInput = JsonSchema | StandardSchemaV1

/** The input type that `execute` receives after validation. */
export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : InferSchema<Schema>

/**
 * A tool as its author writes it: like `Tool`, with the input type inferred from the schema. `execute` may return a
 * `ToolResult` or any plain value.
 */
export type ToolDraft<Schema> = Omit<Tool, 'inputSchema' | 'execute'> & {
  readonly inputSchema: Schema
  execute(input: InputOf<Schema>, ctx: ToolContext): unknown
}

const RULES: OptionRules<ToolDraft<SchemaInput>> = {
  ...TOOL_FIELD_RULES,
  name: required(anyText),
  description: required(anyText),
  inputSchema: required(either(trueOrFalse, anyObject, anyFunction)),
  capabilities: optionsWith<CapabilityRequest>(CAPABILITY_RULES),
  execute: required(anyFunction),
}

/**
 * Defines a tool whose `execute` input is inferred from `inputSchema`. With a Standard Schema, the model sees its
 * JSON Schema, and `execute` receives the parsed value, with defaults and transforms applied. `wrapResult` wraps what
 * `execute` returns. Throws `config-invalid` for unknown keys and values out of range.
 */
export function defineTool<const Schema extends SchemaInput>(
  draft: ToolDraft<Schema>,
): Tool<InputOf<Schema>> {
  const name: unknown = isRecord(draft) ? draft.name : undefined
  checkOptions<ToolDraft<SchemaInput>>(
    typeof name === 'string' ? `the tool "${name}"` : 'defineTool()',
    draft,
    RULES,
  )
  const { inputSchema } = draft
  const parser = isStandardSchema(inputSchema) ? inputSchema : undefined
  return {
    ...plainFields(draft),
    // Called as a method, since the draft may be a class instance.
    ...(draft.isAvailable ? { isAvailable: () => draft.isAvailable?.() as boolean } : {}),
    ...(draft.reduce ? { reduce: (result, context) => draft.reduce?.(result, context) } : {}),
    inputSchema: parser ? jsonSchemaOf(parser, draft.name) : (inputSchema as JsonSchema),
    execute: (input, ctx) =>
      parser
        ? parseThen(parser, input, (parsed) =>
            wrapResult(() => draft.execute(parsed as InputOf<Schema>, ctx)),
          )
        : wrapResult(() => draft.execute(input, ctx)),
  }
}

/** The draft's fields, including those on a class prototype, which a spread would miss. */
function plainFields<Schema>(draft: ToolDraft<Schema>): Omit<Tool, 'inputSchema' | 'execute'> {
  const entries = Object.keys(RULES).map((key) => [key, draft[key as keyof typeof draft]] as const)
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined && typeof value !== 'function'),
  ) as unknown as Omit<Tool, 'inputSchema' | 'execute'>
}

/** True for a schema from a schema library, as opposed to plain JSON Schema. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (
    ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema
  )
}

/**
 * The JSON Schema that a library generates for its schema. Throws `config-invalid` with the next step if it cannot.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, owner: string): JsonSchema {
  const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  if (!standard.jsonSchema) {
    if (standard.vendor === 'valibot') return valibotJsonSchema(schema)
    const problem = `the ${standard.vendor} schema of "${owner}" cannot be converted to JSON Schema`
    throw new ToolcribError('config-invalid', `${problem}; update ${standard.vendor}, or pass a JSON Schema`)
  }
  try {
    // Copied, since some libraries attach a hidden reference to themselves.
    return { ...standard.jsonSchema.input({ target: 'draft-2020-12' }) }
  } catch (cause) {
    throw new ToolcribError(
      'config-invalid',
      `the ${standard.vendor} schema of "${owner}" cannot be converted to JSON Schema: ${describeError(cause)}`,
      { cause },
    )
  }
}

async function parseThen(
  schema: StandardSchemaV1,
  input: unknown,
  next: (parsed: unknown) => Promise<ToolResult> | ToolResult,
): Promise<ToolResult> {
  const outcome = await schema['~standard'].validate(input)
  if (!outcome.issues) return next(outcome.value)
  const faults = outcome.issues.slice(0, 5).map(({ path, message }) => {
    const keys = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
    return keys.length > 0 ? `${keys.join('.')}: ${message}` : message
  })
  return { ok: false, code: 'input_invalid', error: faults.join('; ') }
}

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { describeError, ToolcribError } from '../errors.ts'
import type { JsonSchema, Tool, ToolContext, ToolResult } from '../tool.ts'
import type { InferSchema } from './infer-schema.ts'
import { valibotJsonSchema } from './valibot-schema.ts'

/** A JSON Schema, or a schema of zod, valibot, arktype or any other library that speaks Standard Schema. */
export type SchemaInput = JsonSchema | StandardSchemaV1

/** What `execute` receives once a schema has accepted it. */
export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : InferSchema<Schema>

/** A tool as it is written: like `Tool`, with the input type taken from the schema. */
export type ToolDraft<Schema> = Omit<Tool, 'inputSchema' | 'execute'> & {
  readonly inputSchema: Schema
  execute(input: InputOf<Schema>, ctx: ToolContext): Promise<ToolResult> | ToolResult
}

/**
 * Types a tool: the input of `execute` is inferred from `inputSchema`. With a Standard Schema the model is shown
 * its JSON Schema, and `execute` gets what the schema parsed, defaults and transforms included.
 */
export function defineTool<const Schema extends SchemaInput>(
  draft: ToolDraft<Schema>,
): Tool<InputOf<Schema>> {
  const { inputSchema } = draft
  // With a JSON Schema the draft is a tool already.
  if (isJsonDraft(draft)) return draft
  if (!isStandardSchema(inputSchema))
    throw new ToolcribError('config-invalid', `"${draft.name}" has no input schema`)
  return {
    ...draft,
    // Methods of a class are not spread.
    ...(draft.isAvailable ? { isAvailable: () => draft.isAvailable?.() !== false } : {}),
    ...(draft.reduce ? { reduce: (result, context) => draft.reduce?.(result, context) } : {}),
    inputSchema: jsonSchemaOf(inputSchema, draft.name),
    execute: (input, ctx) =>
      parseThen(inputSchema, input, (parsed) => draft.execute(parsed as InputOf<Schema>, ctx)),
  }
}

function isJsonDraft<Schema>(draft: ToolDraft<Schema>): draft is ToolDraft<Schema> & Tool<InputOf<Schema>> {
  return !isStandardSchema(draft.inputSchema)
}

/** Whether a schema is one of a schema library's, rather than plain JSON Schema. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (
    ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema
  )
}

/** The JSON Schema that a library gives for its schema, or `config-invalid` with what to do about it. */
export function jsonSchemaOf(schema: StandardSchemaV1, owner: string): JsonSchema {
  const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  if (!standard.jsonSchema) {
    if (standard.vendor === 'valibot') return valibotJsonSchema(schema)
    const problem = `the ${standard.vendor} schema of "${owner}" cannot describe itself as JSON Schema`
    throw new ToolcribError('config-invalid', `${problem}; update ${standard.vendor}, or pass a JSON Schema`)
  }
  try {
    // Spread, since some libraries hang a hidden reference to themselves on it.
    return { ...standard.jsonSchema.input({ target: 'draft-2020-12' }) }
  } catch (cause) {
    throw new ToolcribError(
      'config-invalid',
      `the ${standard.vendor} schema of "${owner}" has no JSON Schema form: ${describeError(cause)}`,
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

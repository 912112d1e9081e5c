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
import {
  checkKeys,
  type JsonSchema,
  type Returned,
  TOOL_FIELD_RULES,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../tool.ts'
import { failedWith, toResult } from '../tool-result.ts'
import type { InferSchema } from './infer-schema.ts'
import { valibotJsonSchema } from './valibot-schema.ts'

/** A JSON Schema, or a schema from zod, valibot, arktype or any other library that implements Standard Schema. */
export type SchemaInput = JsonSchema | StandardSchema

/** The input type that `execute` receives after validation. */
export type InputOf<Schema> = Schema extends StandardSchema ? StandardOutput<Schema> : InferSchema<Schema>

/** A tool as its author writes it: like `Tool`, with the input type inferred from the schema. */
export type ToolDraft<Schema> = Omit<Tool, 'inputSchema' | 'execute'> & {
  readonly inputSchema: Schema
  execute(input: InputOf<Schema>, ctx: ToolContext): Returned | Promise<Returned>
}

/** A tool whose `execute` returns a complete result. */
export type DefinedTool<Input = unknown> = Omit<Tool<Input>, 'execute'> & {
  execute(input: Input, ctx: ToolContext): Promise<ToolResult> | ToolResult
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
 * JSON Schema, and `execute` receives the parsed value, with defaults and transforms applied. What it returns is read as
 * `Returned` says. Throws `config-invalid` for unknown keys and values out of range.
 */
export function defineTool<const Schema extends SchemaInput>(
  draft: ToolDraft<Schema>,
): DefinedTool<InputOf<Schema>> {
  const name: unknown = isRecord(draft) ? draft.name : undefined
  const owner = typeof name === 'string' ? `the tool "${name}"` : 'defineTool()'
  if (isRecord(draft)) checkKeys(owner, draft)
  checkOptions<ToolDraft<SchemaInput>>(owner, draft, RULES)
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
        ? validateThen(parser, input, (parsed) =>
            resultOf(() => draft.execute(parsed as InputOf<Schema>, ctx)),
          )
        : resultOf(() => draft.execute(input, ctx)),
  }
}

function resultOf(run: () => unknown): ToolResult | Promise<ToolResult> {
  try {
    const returned = run()
    const isLater = typeof returned === 'object' && returned !== null && 'then' in returned
    return isLater ? Promise.resolve(returned).then(asResult, failedWith) : asResult(returned)
  } catch (thrown) {
    return failedWith(thrown)
  }
}

function asResult(returned: unknown): ToolResult {
  return isResult(returned) ? returned : toResult(returned)
}

function isResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false
  if (value.ok === true) return typeof value.value === 'string'
  return value.ok === false && typeof value.error === 'string' && typeof value.code === 'string'
}

/** The draft's fields, including those on a class prototype, which a spread would miss. */
function plainFields<Schema>(draft: ToolDraft<Schema>): Omit<Tool, 'inputSchema' | 'execute'> {
  const entries = Object.keys(RULES).map((key) => [key, draft[key as keyof typeof draft]] as const)
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined && typeof value !== 'function'),
  ) as unknown as Omit<Tool, 'inputSchema' | 'execute'>
}

/** True for a schema from a schema library, as opposed to plain JSON Schema. */
export function isStandardSchema(schema: unknown): schema is StandardSchema {
  return (
    ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema
  )
}

/**
 * The JSON Schema that a library generates for its schema. Throws `config-invalid` with the next step if it cannot.
 */
export function jsonSchemaOf(schema: StandardSchema, owner: string): JsonSchema {
  const standard = schema['~standard']
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

/** Passes the value that a schema parses to `next`; what it rejects is `input_invalid`. */
export async function validateThen(
  schema: StandardSchema,
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

/** The parts of Standard Schema (version 1) that tools need: what zod, valibot, arktype and others implement. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Exists only for the compiler. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    /** Absent in libraries that cannot generate JSON Schema. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** The value that `execute` receives after validation. */
export type StandardOutput<Schema extends StandardSchema> = NonNullable<
  Schema['~standard']['types']
>['output']

type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

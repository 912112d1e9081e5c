import { isStandardSchema, jsonSchemaOf, type SchemaInput, validateThen } from '../authoring/define-tool.ts'
import type { JsonSchema } from '../tool.ts'

/** How often a run asks for an answer again that does not match its schema. */
const MAX_CORRECTIONS = 2

/** The last answer of a run as JSON of a schema. It is asked for in words, so it works with every provider. */
export class FinalAnswer {
  readonly #schema: SchemaInput
  readonly #jsonSchema: JsonSchema
  #corrections = 0

  constructor(schema: SchemaInput) {
    this.#schema = schema
    this.#jsonSchema = isStandardSchema(schema) ? jsonSchemaOf(schema, 'answerSchema') : schema
  }

  /** A paragraph for the system prompt, the same in every request. */
  get instruction(): string {
    return `When you are done, answer with JSON that matches this schema, and nothing else: ${JSON.stringify(this.#jsonSchema)}`
  }

  /** Returns the value, or what to tell the model; an error once it was told often enough. */
  async read(text: string): Promise<{ value: unknown } | { correction: string } | { error: Error }> {
    const read = await this.#parse(text)
    if ('value' in read) return read
    const problem = `the answer does not match answerSchema: ${read.fault}`
    if (this.#corrections++ >= MAX_CORRECTIONS) return { error: new Error(problem) }
    return { correction: `[${problem}. Answer again, with JSON that matches the schema and nothing else.]` }
  }

  async #parse(text: string): Promise<{ value: unknown } | { fault: string }> {
    let value: unknown
    try {
      value = JSON.parse(text.replace(FENCE, '$1'))
    } catch {
      return { fault: 'it is not JSON' }
    }
    const { SchemaCache } = await import('../schema/check-arguments.ts')
    const { checkOutput } = await import('../schema/check-output.ts')
    const schemas = new SchemaCache()
    await schemas.loadRareChecks()
    const compiled = schemas.compile(this.#jsonSchema, () => {})
    const checked = checkOutput(compiled, value)
    if (checked.kind === 'invalid') return { fault: checked.error }
    if (!isStandardSchema(this.#schema)) return { value }
    const parsed = await validateThen(this.#schema, value, (structured) => ({
      ok: true,
      value: '',
      structured,
    }))
    return parsed.ok ? { value: parsed.structured } : { fault: parsed.error }
  }
}

/** Models like to put JSON into a block of Markdown. */
const FENCE = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/

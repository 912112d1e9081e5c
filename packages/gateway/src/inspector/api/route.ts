import { ToolcribError } from '@toolcrib/core'
import type { Inspection } from '../inspection.ts'

/** One request of the page: its checked input, and its response as JSON or as a stream. */
export interface Route<Input, Output> {
  readonly method: 'GET' | 'POST'
  readonly fields: FieldsOf<Input>
  run(inspection: Inspection, input: Input, request: RequestFacts): Output | Promise<Output>
}

/** What a route knows about its request besides the input. */
export interface RequestFacts {
  /** Fires when the page disconnects. */
  readonly signal: AbortSignal
  readonly headers: Headers
}

/** Reads one value of the input; throws `config-invalid` for anything else. */
type Field<Value> = (value: unknown, key: string) => Value
type FieldsOf<Input> = { readonly [Key in keyof Input]: Field<Input[Key]> }

/** A route that changes nothing. */
export function reading<Input, Output>(
  fields: FieldsOf<Input>,
  run: Route<Input, Output>['run'],
): Route<Input, Output> {
  return { method: 'GET', fields, run }
}

/** A route that changes or runs something; only the page itself can send such a request. */
export function writing<Input, Output>(
  fields: FieldsOf<Input>,
  run: Route<Input, Output>['run'],
): Route<Input, Output> {
  return { method: 'POST', fields, run }
}

export const text: Field<string> = (value, key) => {
  if (typeof value === 'string' && value.length <= MAX_TEXT) return value
  throw invalid(`${key} must be a text`)
}

export const texts: Field<readonly string[]> = (value, key) => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw invalid(`${key} must be a list of texts`)
}

/** An absent list is empty. */
export const anyTexts: Field<readonly string[]> = (value, key) =>
  value === undefined ? [] : texts(value, key)

export const flag: Field<boolean> = (value, key) => {
  if (value === true || value === false || value === undefined) return value === true
  throw invalid(`${key} must be true or false`)
}

export const json: Field<unknown> = (value) => value

/** A number in a query is a text. */
export const count: Field<number> = (value, key) => {
  const number = value === undefined ? 0 : Number(value)
  if (Number.isInteger(number) && number >= 0) return number
  throw invalid(`${key} must be a whole number`)
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Field<Choice> {
  return (value, key) => {
    const chosen = choices.find((choice) => choice === value)
    if (chosen !== undefined) return chosen
    throw invalid(`${key} must be one of ${choices.join(', ')}`)
  }
}

/** An absent text is empty. */
export const anyText: Field<string> = (value, key) => (value === undefined ? '' : text(value, key))

/** Reads the input of a route. */
export function readInput<Input>(
  { fields }: Pick<Route<Input, unknown>, 'fields'>,
  given: Readonly<Record<string, unknown>>,
): Input {
  const entries = Object.entries(fields) as [keyof Input & string, Field<unknown>][]
  return Object.fromEntries(entries.map(([key, read]) => [key, read(given[key], key)])) as Input
}

export function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}

const MAX_TEXT = 200_000

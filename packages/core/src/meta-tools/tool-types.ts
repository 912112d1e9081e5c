import { isRecord } from '../json.ts'
import { sourceName } from '../names.ts'
import type { JsonSchema, Listing, Tool, ToolDefinition } from '../tool.ts'
import {
  isCombined,
  resolved,
  shapeOf,
  signatureOf,
  typeOf,
  typeText,
  type Writer,
  wordsOf,
} from './signature.ts'

/** What the type of a tool is made of. */
export interface TypedTool {
  readonly definition: ToolDefinition
  readonly tool: Pick<Tool, 'outputSchema'>
  readonly listing: Pick<Listing, 'source' | 'ownName'>
}

/** A tool as a script calls it. */
export interface ToolTypes {
  /** Such as `tools.github.create_issue({ title: string }): Promise<Issue>; type Issue = { … }`. */
  readonly types: string
  /** Whether it has all that the schema of the parameters says. */
  readonly isWhole: boolean
}

/** Of a type that stands for the whole schema. */
const WHOLE = { depth: 10, maxValues: 1_000, maxComment: 300 } as const
const MAX_PATTERN = 40
const MAX_CUT = 1_200
/** A shorter result is repeated rather than named. */
const MIN_SHARED = 40

/** Tools as TypeScript, for one answer: a result that several have is written out once, with the first. */
export function typesOf(tools: readonly TypedTool[]): readonly ToolTypes[] {
  const results = tools.map(({ tool }) =>
    tool.outputSchema === undefined ? 'any' : typeText(tool.outputSchema),
  )
  const isShared = (result: string) =>
    result.length >= MIN_SHARED && results.indexOf(result) !== results.lastIndexOf(result)
  const names = new Map<string, string>()
  return tools.map((one, at) => {
    const result = results[at] ?? 'any'
    const known = names.get(result)
    if (known === undefined && isShared(result)) names.set(result, nameFor(one, [...names.values()]))
    const name = names.get(result)
    const output = name ?? result
    const type = name !== undefined && known === undefined ? `; type ${name} = ${result}` : ''
    const { parameters } = one.definition
    const whole = wholeType(parameters)
    const input = whole === undefined ? cutInput(one) : whole.type === '{}' ? '()' : `(${whole.type})`
    const types = `tools${pathOf(one.listing)}${input}: Promise<${output}>${whole?.named ?? ''}${type}`
    return { types, isWhole: whole !== undefined }
  })
}

function cutInput({ definition }: TypedTool): string {
  // Called with one object.
  return signatureOf(definition.parameters, { maxChars: MAX_CUT }).replace(/^\((?!…\))(.+)\)$/s, '({ $1 })')
}

/** The title of the result, or the name of the first tool that returns it. */
function nameFor({ tool, listing }: TypedTool, taken: readonly string[]): string {
  const { outputSchema } = tool
  const title =
    typeof outputSchema === 'object' && typeof outputSchema.title === 'string' ? outputSchema.title : ''
  const words = (title || `${listing.ownName} result`).split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  const free = /^[A-Za-z]/.test(name) && name.length <= 40 ? name : 'Result'
  return taken.includes(free) ? `${free}${taken.length}` : free
}

/** `.github.create_issue`, or `["my-server"].read`. */
function pathOf({ source, ownName }: TypedTool['listing']): string {
  return [sourceName(source), ownName]
    .filter((part) => part !== '')
    .map((part) => (/^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`))
    .join('')
}

/**
 * The whole schema as one type, with constraints as comments; what it refers to more than once is named. Undefined if a type
 * cannot tell it all.
 */
function wholeType(schema: JsonSchema): { readonly type: string; readonly named: string } | undefined {
  if (!isRecord(schema)) return undefined
  const isObject = schema.type === 'object' && !isCombined(schema)
  if (isObject && Object.keys(shapeOf(schema).properties).length === 0) return { type: '{}', named: '' }
  const named = new Map<string, string>()
  const nameOf = (part: unknown, writer: Writer) => namedType(part, writer, named)
  const type = typeOf(schema, { ...WHOLE, root: schema, whole: { nameOf, commentOf } })
  const text = [...named].map(([name, body]) => `; type ${name} = ${body}`).join('')
  const isCut = `${type}${text}`.replace(/\/\*.*?\*\//g, '').includes('…')
  return isCombined(schema) || isCut ? undefined : { type, named: text }
}

/** The name of a type that the schema refers to more than once, or that contains itself. */
function namedType(schema: unknown, writer: Writer, named: Map<string, string>): string | undefined {
  const { root } = writer
  if (!isRecord(schema) || typeof schema.$ref !== 'string') return undefined
  const uses = JSON.stringify(root).split(`"$ref":${JSON.stringify(schema.$ref)}`).length - 1
  const name = schema.$ref.split('/').at(-1)?.replace(/\W/g, '_') ?? ''
  if (uses < 2 || !/^[A-Za-z_]/.test(name)) return undefined
  if (!named.has(name)) {
    // First: it may contain itself.
    named.set(name, '')
    named.set(name, typeOf(resolved(schema, writer), { ...writer, depth: WHOLE.depth }))
  }
  return name
}

/** The constraints, and the beginning of the description. */
function commentOf(property: Readonly<Record<string, unknown>>): string {
  const words = [constraintsOf(property), wordsOf(property, WHOLE.maxComment)]
  return words.filter((word) => word !== '').join(' ')
}

/** Such as `(int, 1..100, = 10)`. */
function constraintsOf(property: Readonly<Record<string, unknown>>): string {
  const { type, format, pattern, default: usual } = property
  const [from, to] = [
    ['minimum', 'minLength', 'minItems'],
    ['maximum', 'maxLength', 'maxItems'],
  ].map((keys) => keys.map((key) => property[key]).find((limit) => typeof limit === 'number') ?? '')
  const words = [
    type === 'integer' ? 'int' : '',
    typeof format === 'string' ? format : '',
    from === '' && to === '' ? '' : `${from}..${to}`,
    usual === undefined ? '' : `= ${JSON.stringify(usual)}`,
    typeof pattern === 'string' && pattern.length <= MAX_PATTERN ? `/${pattern}/` : '',
  ].filter((word) => word !== '')
  return words.length === 0 ? '' : `(${words.join(', ')})`.replaceAll('*/', '* /')
}

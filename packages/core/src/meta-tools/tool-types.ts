import { sourceName } from '../names.ts'
import type { Listing, Tool, ToolDefinition } from '../tool.ts'
import { signatureOf, typeText, wholeType } from './signature.ts'

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

import { ToolcribError } from '../errors.ts'
import { readFrontmatter } from './frontmatter.ts'

/** A sub-agent: what it is for, its system prompt, and what it may use. */
export interface AgentDefinition {
  readonly name: string
  /** For the model that chooses an agent: what this one is good at, and when to call it. */
  readonly description: string
  /** Its system prompt. */
  readonly prompt: string
  /** The only tools it may use, as names and globs. Default: all of its caller's. */
  readonly tools?: readonly string[]
  /** The name of its model, for `agentTool({ models })`. Default: its caller's model. */
  readonly model?: string
  /** Whether it starts with its caller's active tools. Default: true. */
  readonly inheritActiveMcp?: boolean
}

/**
 * Reads an agent from Markdown: frontmatter with `name`, `description`, `tools` (a list, or names separated by commas),
 * `model` and `inherit_active_mcp`, then its prompt. Throws `config-invalid` with the file and line, also for a
 * misspelt key. Keys of other programs are ignored.
 */
export function parseAgent(markdown: string, file = 'agent'): AgentDefinition {
  const { fields, body } = readFrontmatter(markdown, file)
  fields.refuseMisspelt(KEYS)
  const name = textOf(fields, 'name', file)
  const description = textOf(fields, 'description', file)
  if (name === undefined || description === undefined) {
    const missing = name === undefined ? 'name' : 'description'
    throw new ToolcribError('config-invalid', `${file}: the frontmatter has no "${missing}"; add one`)
  }
  const tools = toolsOf(fields, file)
  const model = textOf(fields, 'model', file)
  const inherit = textOf(fields, 'inherit_active_mcp', file)?.toLowerCase()
  if (inherit !== undefined && inherit !== 'true' && inherit !== 'false')
    throw new ToolcribError(
      'config-invalid',
      `${file}: inherit_active_mcp must be true or false, not ${inherit}`,
    )
  return {
    name,
    description,
    prompt: body.trim(),
    ...(tools === undefined ? {} : { tools }),
    ...(model === undefined || model === 'inherit' ? {} : { model }),
    ...(inherit === undefined ? {} : { inheritActiveMcp: inherit === 'true' }),
  }
}

/** `mode` is a key of other programs, and must not be taken for a misspelt `model`. */
const KEYS = ['name', 'description', 'tools', 'model', 'inherit_active_mcp', 'mode']

type Fields = ReturnType<typeof readFrontmatter>['fields']

function textOf(fields: Fields, key: string, file: string): string | undefined {
  const value = fields.get(key)
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string') return value
  throw new ToolcribError('config-invalid', `${file}: "${key}" must be text, not a list`)
}

function toolsOf(fields: Fields, file: string): readonly string[] | undefined {
  const value = fields.get('tools')
  if (value === undefined) return undefined
  const names = typeof value === 'string' ? value.split(',') : value
  const tools = names.map((name) => name.trim()).filter((name) => name !== '')
  // An empty `tools:` could mean none or all; the author must say which.
  if (value === '')
    throw new ToolcribError(
      'config-invalid',
      `${file}: "tools" is empty; write [] for none, or leave it out for all`,
    )
  return tools
}

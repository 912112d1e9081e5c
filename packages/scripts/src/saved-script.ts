import { createHash } from 'node:crypto'
import { type Tool, type ToolContext, ToolcribError, type ToolResult } from '@toolcrib/core'
import { isReadOnly, type KnownTools, type SavedScript } from '@toolcrib/core/internal'

/** Runs a saved script in the session that called it. */
export type RunSaved = (
  script: { readonly code: string; readonly input: unknown; readonly uses: readonly string[] },
  context: Pick<ToolContext, 'sessionId' | 'toolCallId' | 'signal'>,
) => Promise<ToolResult>

/**
 * A saved script as a tool. It may only call the tools that its code names. It has their annotations in common: it writes if
 * one of them does. The end of its description changes with its code, so that whoever approved it is asked again.
 */
export function savedTool(
  { code, inputSchema, ...rest }: SavedScript,
  registry: KnownTools,
  run: RunSaved,
): Tool {
  const uses = namesIn(code).map((path) => onlyName(path, rest.name, registry))
  const tools = uses.map((name) => registry.get(name))
  const isRead = tools.every((tool) => tool !== undefined && isReadOnly(tool))
  const destroys = tools.some(
    (tool) => !tool || (!isReadOnly(tool) && tool.annotations?.destructiveHint !== false),
  )
  const digest = createHash('sha256').update(code).digest('hex').slice(0, 12)
  return {
    ...rest,
    description: `${rest.description}\n[script ${digest}; calls ${uses.join(', ') || 'nothing'}]`,
    inputSchema: inputSchema ?? { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: isRead, destructiveHint: !isRead && destroys },
    timeoutMs: 0,
    uses,
    execute: (input, ctx) => run({ code, input, uses }, ctx),
  }
}

const PATH = /\btools((?:\s*\??\.\s*[A-Za-z_$][\w$]*|\[\s*(?:"[^"\\]+"|'[^'\\]+')\s*\])+)/g
const PART = /[A-Za-z_$][\w$]*|"[^"]+"|'[^']+'/g
/** What every script has. */
const OWN = ['search', 'describe']

/** The paths of tools in a program, such as `github.create_issue`. */
function namesIn(code: string): readonly string[] {
  const paths = [...code.matchAll(PATH)].map(([, path = '']) =>
    [...path.matchAll(PART)].map(([part]) => part.replace(/^["']|["']$/g, '')).join('.'),
  )
  return [...new Set(paths)].filter((path) => !OWN.includes(path))
}

/** The registered name of the tool; of one whose server is not there yet, the name that it will have. */
function onlyName(path: string, script: string, registry: KnownTools): string {
  const [name = registeredAs(path), another] = registry.resolve(path)
  if (another === undefined) return name
  const problem = `"${path}" means several tools: ${name}, ${another}`
  throw new ToolcribError('config-invalid', `script "${script}": ${problem}; write tools.<server>.<tool>`)
}

function registeredAs(path: string): string {
  const [server, ...tool] = path.split('.')
  return tool.length === 0 ? path : `mcp__${server}__${tool.join('.')}`
}

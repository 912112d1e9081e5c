import type { JsonValue, ToolResult } from '@toolcrib/core'
import type { Given } from './sandbox.ts'
import type { ScriptHost } from './script-host.ts'

/** What a call returns to the script: data where the tool has some, or an error with a code. */
export function givenBy(tool: string, result: ToolResult): Given {
  if (!result.ok) return failureOf(tool, result)
  const { structured, value } = result
  return structured === undefined
    ? { kind: 'text', text: value }
    : { kind: 'json', text: JSON.stringify(structured) }
}

/** A failed call, as the script gets it. */
export function failureOf(tool: string, { code, error }: ToolResult & { readonly ok: false }): Given {
  return { kind: 'failure', text: JSON.stringify({ code, message: error, tool }) }
}

/** What `tools.search` and `tools.describe` return, as JSON. Rejects for a request that cannot be read. */
export async function lookUp(
  host: ScriptHost,
  what: 'search' | 'describe',
  args: JsonValue,
): Promise<string> {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  if (what === 'search') {
    const found = await host.search(text)
    return JSON.stringify(
      found.map(({ name, description, types }) => ({ name, description, types: types() })),
    )
  }
  const tool = host.resolve(text)
  return JSON.stringify('problem' in tool ? tool.problem : tool.types())
}

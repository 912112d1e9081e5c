import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '@toolcrib/mcp'

/**
 * The values of variables that the user entered during set-up. They are in the state folder, readable only by their
 * owner: the config folder is often under version control. The path is computed without the library, so that `--help`
 * need not load it.
 */
function variablesPath(env: Environment): string | undefined {
  const { XDG_STATE_HOME, LOCALAPPDATA, HOME } = env
  const name = 'variables.json'
  if (XDG_STATE_HOME) return join(XDG_STATE_HOME, 'toolcrib', name)
  if (LOCALAPPDATA) return join(LOCALAPPDATA, 'toolcrib', 'state', name)
  return HOME ? join(HOME, '.local', 'state', 'toolcrib', name) : undefined
}

/** The environment with the saved variables; those that are set take precedence. */
export function withSavedVariables(env: Environment): Environment {
  return { ...readSaved(env), ...env }
}

/** Saves values, in addition to those already saved. */
export async function saveVariables(
  env: Environment,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const path = variablesPath(env)
  if (path === undefined || Object.keys(values).length === 0) return
  const { replaceText } = await import('@toolcrib/mcp/clients')
  await replaceText(path, `${JSON.stringify({ ...readSaved(env), ...values }, null, 2)}\n`)
}

function readSaved(env: Environment): Record<string, string> {
  const path = variablesPath(env)
  if (path === undefined) return {}
  try {
    const saved: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const entries = Object.entries(typeof saved === 'object' && saved !== null ? saved : {})
    return Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    )
  } catch {
    return {}
  }
}

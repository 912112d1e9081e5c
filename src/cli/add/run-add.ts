import { ToolcribError } from 'toolcrib'
import { ServersFile } from 'toolcrib/clients'
import { type EditFlags, editableFiles, finishEdit } from '../edit-servers.ts'
import type { Terminal } from '../terminal.ts'

export interface AddFlags extends EditFlags {
  readonly url?: string
  readonly env: readonly string[]
  readonly header: readonly string[]
  readonly force?: boolean
}

/** Adds a server to a config. */
export async function runAdd(
  terminal: Terminal,
  name: string,
  [command, ...args]: readonly string[],
  flags: AddFlags,
): Promise<number> {
  const { url, env, header } = flags
  if ((command === undefined) === (url === undefined))
    throw new ToolcribError(
      'config-invalid',
      'give the command that starts the server, after --, or its --url',
    )
  const [path] = await editableFiles(terminal, flags)
  if (path === undefined)
    throw new ToolcribError('config-invalid', 'there is no config folder; pass --config <file>')
  const file = await ServersFile.open(path)
  if (file.servers().has(name) && !flags.force)
    throw new ToolcribError('config-invalid', `${path} has a server "${name}"; replace it with --force`)
  const server = {
    ...(command === undefined ? { url } : { command, ...(args.length > 0 ? { args } : {}) }),
    ...(env.length > 0 ? { env: toTable(env, '--env') } : {}),
    ...(header.length > 0 ? { headers: toTable(header, '--header') } : {}),
  }
  file.add([[name, server]])
  return finishEdit(terminal, [file], flags, `added ${name}`)
}

function toTable(pairs: readonly string[], flag: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
      throw new ToolcribError('config-invalid', `${flag} ${pair} must be name=value`)
    }),
  )
}

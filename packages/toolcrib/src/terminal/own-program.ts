import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { shellWord } from './text.ts'

/** How this program was started, and how others can start it. */
export interface OwnProgram {
  /** What a person types: `toolcrib`, `npx toolcrib`, or `node dist/cli/main.js`. */
  readonly name: string
  /** What another program runs, regardless of its PATH and folder. */
  readonly command: string
  readonly args: readonly string[]
  /** How to install a package where this program finds it. Default: `npm install`. */
  readonly install?: string
}

export const TOOLCRIB: OwnProgram = { name: 'toolcrib', command: 'toolcrib', args: [] }

export interface ProgramPlace {
  /** The path of the script, `process.argv[1]`. */
  readonly script: string | undefined
  /** The path of Node, `process.execPath`. */
  readonly node: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Finds out how this program was started. */
export function ownProgram({ script, node, env, cwd }: ProgramPlace): OwnProgram {
  if (script === undefined) return TOOLCRIB
  const file = real(script)
  // A package that npx downloaded may be removed tomorrow.
  if (/[/\\]_npx[/\\]/.test(file))
    return { name: 'npx toolcrib', command: 'npx', args: ['-y', 'toolcrib'], install: 'npm install toolcrib' }
  const started = { command: onPath('node', env, node) ?? node, args: [file] }
  if (onPath('toolcrib', env, file) !== undefined)
    return { name: 'toolcrib', ...started, install: 'npm install -g' }
  if (existsSync(join(cwd, 'node_modules', '.bin', 'toolcrib'))) return { name: 'npx toolcrib', ...started }
  const path = relative(cwd, file)
  return { name: `node ${shellWord(path.startsWith('..') ? file : path)}`, ...started }
}

/** The path of a program on PATH, if it is this file: a link survives updates of its target. */
function onPath(name: string, env: ProgramPlace['env'], file: string): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const target = real(file)
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path) && real(path) === target)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

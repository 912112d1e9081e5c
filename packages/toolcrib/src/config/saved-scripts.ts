import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { type JsonSchema, type SavedScript, ToolcribError, type ToolRegistry } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import type { Config } from '@toolcrib/mcp'

const FOLDER = 'toolcrib-scripts'
const NAME = /^[A-Za-z][\w-]{0,60}$/
/** What is said about a script stands before its code. */
const HEAD = /^\/\* (.*) \*\/\n/

/** What `save()` did. */
export interface SaveReport {
  readonly file: string
  readonly config: string
  /** What stands in the config now, or should. */
  readonly lines: string
  readonly isInConfig: boolean
}

/** The scripts that a person has saved: files beside the config, which has their hashes. */
export class SavedScripts {
  readonly #config: string
  readonly #hashes: Readonly<Record<string, string>>

  private constructor(config: string, hashes: Readonly<Record<string, string>>) {
    this.#config = config
    this.#hashes = hashes
  }

  static of({ files, scripts }: Pick<Config, 'files' | 'scripts'>): SavedScripts {
    return new SavedScripts(files.at(-1) ?? '', scripts?.saved ?? {})
  }

  /** Registers those that are as they were saved; returns what is wrong with the others. */
  async register(registry: Pick<ToolRegistry, 'registerScript'>): Promise<readonly string[]> {
    const faults = await Promise.all(
      Object.entries(this.#hashes).map(async ([name, hash]) => {
        try {
          const text = await readFile(this.#fileOf(name), 'utf8')
          if (hashOf(text) !== hash)
            throw new ToolcribError(
              'definition-changed',
              `it is not what was saved; read ${this.#fileOf(name)}, then run "toolcrib script save ${name}"`,
            )
          registry.registerScript(readScript(name, text))
          return []
        } catch (error) {
          return [`script "${name}" is left out: ${describeError(error)}`]
        }
      }),
    )
    return faults.flat()
  }

  /** Writes the file, if there is code, and its hash into the config. */
  async save(
    name: string,
    { code, description, input }: { code?: string | undefined; description?: string; input?: string },
  ): Promise<SaveReport> {
    if (!NAME.test(name)) throw invalid(`"${name}" is no name of a tool: letters, digits, _ and -`)
    const file = this.#fileOf(name)
    if (code !== undefined) {
      if (description === undefined) throw invalid('--description says what the tool does; it is needed')
      const head = { description, ...(input === undefined ? {} : { inputSchema: parse(input) }) }
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, `/* ${JSON.stringify(head).replaceAll('*/', '*\\/')} */\n${code}\n`)
    }
    const text = await readFile(file, 'utf8').catch(() => {
      throw invalid(`there is no ${file}; name the run whose source is to be saved`)
    })
    readScript(name, text)
    const line = `${name} = "${hashOf(text)}"`
    const isInConfig = extname(this.#config) === '.toml'
    if (isInConfig) await writeFile(this.#config, withLine(await readFile(this.#config, 'utf8'), name, line))
    return { file, config: this.#config, lines: `[scripts.saved]\n${line}`, isInConfig }
  }

  #fileOf(name: string): string {
    return join(dirname(this.#config), FOLDER, `${name}.js`)
  }
}

function readScript(name: string, text: string): SavedScript {
  const [all, head = ''] = HEAD.exec(text) ?? []
  if (all === undefined || !NAME.test(name))
    throw invalid('the file must begin with a comment: /* {"description": "…", "inputSchema": {…}} */')
  const { description, inputSchema } = parse(head) as { description?: string; inputSchema?: JsonSchema }
  if (typeof description !== 'string') throw invalid('its first line has no description')
  return {
    name,
    description,
    code: text.slice(all.length),
    ...(inputSchema === undefined ? {} : { inputSchema }),
  }
}

function parse(json: string): JsonSchema {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw invalid(`this is not JSON: ${describeError(error)}`)
  }
}

/** The config with the hash of a script, in its table. */
function withLine(config: string, name: string, line: string): string {
  const table = /^[^\S\n]*\[scripts\.saved\][^\S\n]*(?:#[^\n]*)?\n/m.exec(config)
  if (!table) return `${config.trimEnd()}\n\n[scripts.saved]\n${line}\n`
  const from = table.index + table[0].length
  const next = config.slice(from).search(/^\[/m)
  const end = next < 0 ? config.length : from + next
  const kept = config.slice(from, end).replace(new RegExp(`^${name}\\s*=.*\\n?`, 'm'), '')
  return `${config.slice(0, from)}${line}\n${kept}${config.slice(end)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function invalid(reason: string): ToolcribError {
  return new ToolcribError('config-invalid', reason)
}

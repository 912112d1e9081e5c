import { join } from 'node:path'
import type { AllowedTools } from '@toolcrib/gateway'
import { type Config, configDirectory, type Environment } from '@toolcrib/mcp'

/** `allow_unasked` of the user's own config: what they always allow, until its definition changes. */
export class ConfiguredTools implements AllowedTools {
  readonly #path: string
  readonly #config: () => Pick<Config, 'allowUnasked'>
  /** What was written and has not been read again. */
  readonly #written = new Map<string, string | undefined>()

  private constructor(path: string, config: () => Pick<Config, 'allowUnasked'>) {
    this.#path = path
    this.#config = config
  }

  /** Undefined if the user's own config is not among the files that are read, as with `--config` of another one. */
  static of(config: () => Config, env: Environment, chosen: string | undefined): ConfiguredTools | undefined {
    const folder = configDirectory(env)
    if (folder === undefined) return undefined
    const { files } = config()
    const own = files.find((file) => file.startsWith(folder)) ?? join(folder, 'toolcrib.toml')
    const isRead = files.includes(own) || (chosen === undefined && !env.TOOLCRIB_CONFIG)
    return isRead && /\.(?:toml|json)$/.test(own) ? new ConfiguredTools(own, config) : undefined
  }

  list(): Readonly<Record<string, string>> {
    const { allowUnasked: read = {} } = this.#config()
    const all: Record<string, string> = { ...read }
    for (const [tool, definition] of this.#written) {
      if (read[tool] === definition) this.#written.delete(tool)
      else if (definition === undefined) delete all[tool]
      else all[tool] = definition
    }
    return all
  }

  async set(tool: string, definition: string | undefined): Promise<void> {
    const { ServersFile } = await import('@toolcrib/mcp/clients')
    const file = await ServersFile.open(this.#path)
    file.setAllowedUnasked(tool, definition)
    await file.save()
    this.#written.set(tool, definition)
  }
}

import { readFile as readFileOfNode } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { type ConfigFile, parseConfigFile } from './config-file.ts'
import { invalid, type Place, readTable } from './read-table.ts'
import { asRead, readServer, type ServerConfig, type ServerPlace } from './server-config.ts'
import {
  overlayTools,
  readTools,
  type SearcherChoice,
  searcherOf,
  type ToolsConfig,
  type ToolsTable,
  toolsFromEnvironment,
  toRegistryOptions,
} from './tools-config.ts'
import { configDirectory } from './user-folders.ts'

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where config is looked for, and what its variables stand for. */
export interface LoadOptions {
  /** Where the project is; relative paths start here, and `${workspaceFolder}` stands for it. */
  readonly cwd: string
  /** What `${NAME}` stands for, and where `TOOLCRIB_*` is looked for. */
  readonly env: Environment
  /** Read this file and no other. */
  readonly path?: string
  /** Flags of a command line, as in `[tools]`; they win over everything. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** The user's config folder; see `configDirectory()`. */
  readonly userDirectory?: string
  /** What stands in for a server that makes no sense; without it, one such server fails the whole config. */
  readonly onBadServer?: (error: ToolcribError) => ServerConfig
  /** How files are read; one that is not there rejects with the code `ENOENT`. From the disk by default. */
  readonly readFile?: (path: string) => Promise<string>
}

/** A config that makes sense, of one file or several. */
export interface Config {
  /** Options for `new ToolRegistry()`. */
  readonly tools: ToolsConfig
  /** The searcher it names; `openFromConfig()` uses `hybrid` when absent. */
  readonly searcher?: SearcherChoice
  /** The servers that are not disabled, by name, with their variables filled in. */
  readonly servers: Readonly<Record<string, ServerConfig>>
  /** The files it was read from, the user's first. */
  readonly files: readonly string[]
  /** Which servers each of these files names; absent where there are no files. */
  readonly layers?: readonly ConfigLayer[]
}

/** The servers that one file names: those that are disabled, and those that a later file redefines, are among them. */
export interface ConfigLayer {
  readonly file: string
  readonly servers: readonly string[]
}

const FILE_NAMES = ['toolcrib.toml', 'mcp.toml', '.mcp.json', 'mcp.json']

/**
 * Finds and reads the config: the file at `path` (or `TOOLCRIB_CONFIG`) alone, else the first of `toolcrib.toml`,
 * `mcp.toml`, `.mcp.json` and `mcp.json` in the project, over the first of them in the user's config folder. Precedence:
 * `overrides`, `TOOLCRIB_*` variables, project config, user config. Returns an empty config when there is no file; throws
 * `config-invalid`, with the line, for an invalid one.
 */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { env, cwd, overrides = {}, onBadServer } = options
  const files = await readFiles(options)
  const bad = onBadServer ? { onBadServer } : {}
  const layers = files.map((file) => ({
    file: file.path,
    ...readLayer(file.data, { env, workspaceFolder: cwd, file, ...bad }),
  }))
  const tools = [
    ...layers.map((layer) => layer.tools),
    toolsFromEnvironment(env),
    readTools(overrides, placeOf(undefined, []), { env, workspaceFolder: cwd }),
  ]
  const servers = Object.fromEntries(layers.flatMap((layer) => Object.entries(layer.servers)))
  return {
    ...settingsOf(tools.reduce(overlayTools)),
    servers: withoutDisabled(servers),
    ...originOf(layers),
  }
}

/** How parsed config is read. */
export interface ReadOptions {
  /** What `${NAME}` stands for; nothing by default. */
  readonly env?: Environment
  /** What `${workspaceFolder}` stands for. */
  readonly workspaceFolder?: string
  /** Where the data was read from, for errors with lines. */
  readonly file?: ConfigFile
  /** What stands in for a server that makes no sense; without it, one such server fails the whole config. */
  readonly onBadServer?: (error: ToolcribError) => ServerConfig
}

/** Reads config that has been parsed already: `mcpServers`, `servers` or `server` by name, and `tools`. */
export function readConfig(data: unknown, options: ReadOptions = {}): Config {
  const { tools, servers } = readLayer(data, options)
  const layers = options.file ? [{ file: options.file.path, servers }] : []
  return { ...settingsOf(tools), servers: withoutDisabled(servers), ...originOf(layers) }
}

function settingsOf(table: ToolsTable): Pick<Config, 'tools' | 'searcher'> {
  const searcher = searcherOf(table)
  return { tools: toRegistryOptions(table), ...(searcher === undefined ? {} : { searcher }) }
}

function originOf(
  layers: readonly (Pick<Layer, 'servers'> & { readonly file: string })[],
): Pick<Config, 'files' | 'layers'> {
  const files = layers.map(({ file }) => file)
  if (files.length === 0) return { files }
  return { files, layers: layers.map(({ file, servers }) => ({ file, servers: Object.keys(servers) })) }
}

/** One file, before others are laid over it. */
interface Layer {
  readonly tools: ToolsTable
  /** With those that are disabled: laid over others, they disable the servers of their name. */
  readonly servers: Readonly<Record<string, ServerConfig>>
}

function readLayer(data: unknown, { env = {}, workspaceFolder, file, onBadServer }: ReadOptions): Layer {
  const root = placeOf(file, [])
  if (!isRecord(data)) throw invalid(root, [], 'a config must be a table of keys')
  const variables = { env, workspaceFolder }
  const servers: Record<string, ServerConfig> = {}
  for (const key of SERVER_KEYS) {
    if (data[key] === undefined) continue
    if (!isRecord(data[key])) throw invalid(root, [key], `"${key}" must hold servers by name`)
    for (const [name, table] of Object.entries(data[key])) {
      const place = placeOf(file, [key, name])
      const where = { place, isForeign: file?.format === 'json', ...variables }
      define(servers, name, readOrReport(name, table, where, onBadServer))
    }
  }
  checkRoot(data, root)
  const tools = data.tools === undefined ? {} : readTools(data.tools, placeOf(file, ['tools']), variables)
  return { tools, servers }
}

function readOrReport(
  name: string,
  table: unknown,
  where: ServerPlace,
  onBadServer: ReadOptions['onBadServer'],
): ServerConfig {
  try {
    return readServer(name, table, where)
  } catch (error) {
    if (!onBadServer || !(error instanceof ToolcribError)) throw error
    return asRead(onBadServer(error))
  }
}

function withoutDisabled(
  servers: Readonly<Record<string, ServerConfig>>,
): Readonly<Record<string, ServerConfig>> {
  return Object.fromEntries(Object.entries(servers).filter(([, { disabled }]) => disabled !== true))
}

const SERVER_KEYS = ['mcpServers', 'mcp_servers', 'servers', 'server'] as const

/** An own property, also for a server called `__proto__`. */
function define(servers: Record<string, ServerConfig>, name: string, server: ServerConfig): void {
  Object.defineProperty(servers, name, { value: server, enumerable: true, configurable: true })
}

/** A file of our own has no keys of others, so an unknown table is a slip; elsewhere, one that is nearly ours. */
function checkRoot(data: Record<string, unknown>, place: Place): void {
  const tables = Object.fromEntries(Object.keys(data).map((key) => [key, {}]))
  const known = { tools: 'table', server: 'table', servers: 'table', mcpServers: 'table' } as const
  readTable(tables, known, place.style === 'snake' ? place : { ...place, foreignKeys: [] })
}

function placeOf(file: ConfigFile | undefined, keys: readonly string[]): Place {
  return {
    keys,
    style: file?.format === 'toml' ? 'snake' : 'camel',
    at: (path) => (file ? `${file.path}:${file.lineOf(path)}: ` : ''),
  }
}

async function readFiles(options: LoadOptions): Promise<ConfigFile[]> {
  const { cwd, env, path = env.TOOLCRIB_CONFIG, userDirectory = configDirectory(env) } = options
  const read = options.readFile ?? ((file: string) => readFileOfNode(file, 'utf8'))
  if (path !== undefined && path !== '') {
    const absolute = isAbsolute(path) ? path : join(cwd, path)
    const text = await readText(absolute, read)
    if (text === undefined) throw new ToolcribError('config-invalid', `there is no config file ${absolute}`)
    return [parseConfigFile(text, absolute)]
  }
  const layers = [userDirectory, cwd].filter((directory) => directory !== undefined)
  const found = await Promise.all(layers.map((directory) => readFirst(directory, read)))
  return found.filter((file) => file !== undefined)
}

async function readFirst(
  directory: string,
  read: (path: string) => Promise<string>,
): Promise<ConfigFile | undefined> {
  for (const name of FILE_NAMES) {
    const path = join(directory, name)
    const text = await readText(path, read)
    if (text !== undefined) return parseConfigFile(text, path)
  }
  return undefined
}

async function readText(path: string, read: (path: string) => Promise<string>): Promise<string | undefined> {
  try {
    return await read(path)
  } catch (cause) {
    const code = isErrorWithCode(cause) ? cause.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ToolcribError('config-invalid', `${path} cannot be read: ${describeError(cause)}`, { cause })
  }
}

function isErrorWithCode(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && 'code' in error
}

/** The paths where a config may be found, those that exist and those that may come to be. */
export function configPaths({ cwd, env, path, userDirectory = configDirectory(env) }: LoadOptions): string[] {
  const explicit = path ?? env.TOOLCRIB_CONFIG
  if (explicit) return [isAbsolute(explicit) ? explicit : join(cwd, explicit)]
  const layers = [userDirectory, cwd].filter((directory) => directory !== undefined)
  return layers.flatMap((directory) => FILE_NAMES.map((name) => join(directory, name)))
}

import { isAbsolute, join } from 'node:path'
import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { type ConfigFile, MAX_CONFIG_BYTES, parseConfigFile, tooLarge } from './config-file.ts'
import { type Profile, readProfile } from './profile-config.ts'
import { readLimitedFile } from './read-limited-file.ts'
import { type Fields, invalid, type Place, readTable } from './read-table.ts'
import { asRead, readServer, type ServerConfig, type ServerPlace } from './server-config.ts'
import {
  overlayTools,
  readTools,
  SEARCHER_KIND,
  type SearcherChoice,
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
  /**
   * Whether servers may only be started when a lockfile approves them: `require_lock = true` in any of the files, in the
   * environment or in the overrides. A file cannot take back what another one requires.
   */
  readonly requireLock?: boolean
  /** What clients of a gateway see, by profile. */
  readonly profiles?: Readonly<Record<string, Profile>>
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
  const profiles = Object.fromEntries(layers.flatMap((layer) => Object.entries(layer.profiles)))
  return {
    ...settingsOf(tools.reduce(overlayTools), profiles),
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

/** Reads config that has been parsed already: `mcpServers`, `servers` or `server` by name, `tools`, and `profile` by name. */
export function readConfig(data: unknown, options: ReadOptions = {}): Config {
  const { tools, servers, profiles } = readLayer(data, options)
  const layers = options.file ? [{ file: options.file.path, servers }] : []
  return { ...settingsOf(tools, profiles), servers: withoutDisabled(servers), ...originOf(layers) }
}

function settingsOf(table: ToolsTable, profiles: Layer['profiles']): Omit<Config, 'servers' | 'files'> {
  const { searcher, requireLock, ...tools } = table
  return {
    tools: toRegistryOptions(tools),
    ...(searcher === undefined ? {} : { searcher: searcher as SearcherChoice }),
    ...(requireLock === true ? { requireLock } : {}),
    ...(Object.keys(profiles).length > 0 ? { profiles } : {}),
  }
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
  readonly profiles: Readonly<Record<string, Profile>>
}

/** More than anybody runs; a file with more was not written as a config. */
const MAX_SERVERS = 2_000

function readLayer(data: unknown, { env = {}, workspaceFolder, file, onBadServer }: ReadOptions): Layer {
  const root = placeOf(file, [])
  if (!isRecord(data)) throw invalid(root, [], 'a config must be a table of keys')
  const variables = { env, workspaceFolder }
  const servers: Record<string, ServerConfig> = {}
  for (const key of SERVER_KEYS) {
    if (data[key] === undefined) continue
    if (!isRecord(data[key])) throw invalid(root, [key], `"${key}" must hold servers by name`)
    const tables = Object.entries(data[key])
    if (tables.length > MAX_SERVERS)
      throw invalid(root, [key], `"${key}" holds ${tables.length} servers; ${MAX_SERVERS} is the most`)
    for (const [name, table] of tables) {
      const place = placeOf(file, [key, name])
      const where = { place, isForeign: file?.format === 'json', ...variables }
      define(servers, name, readOrReport(name, table, where, onBadServer))
    }
  }
  const { settings, profiles: tables } = readRoot(data, root)
  const tools = data.tools === undefined ? {} : readTools(data.tools, placeOf(file, ['tools']), variables)
  const profiles: Record<string, Profile> = {}
  for (const [name, table] of Object.entries(tables))
    profiles[name] = readProfile(name, table, placeOf(file, ['profile', name]), variables)
  return { tools: overlayTools(settings, tools), servers, profiles }
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

/** The keys of a config. The last ones are also read at this place, where `readConfig()` itself puts them. */
const ROOT_FIELDS = {
  tools: 'table',
  server: 'table',
  servers: 'table',
  mcpServers: 'table',
  profile: 'table',
  requireLock: 'flag',
} as const satisfies Fields
const ALSO_READ = { profiles: 'table', searcher: SEARCHER_KIND } as const satisfies Fields

/** The settings that may stand beside the tables, and the tables of profiles. */
interface Root {
  readonly settings: ToolsTable
  readonly profiles: Readonly<Record<string, unknown>>
}

/**
 * Reads the keys beside the tables of servers and tools. A file of our own holds no keys of other programs, so every
 * unknown key is refused; in another, only one that resembles a known key is.
 */
function readRoot(data: Record<string, unknown>, place: Place): Root {
  const isReadHere = (key: string) => /^(require_?lock|searcher|profiles?)$/i.test(key)
  const given = Object.entries(data).map(([key, value]) => [key, isReadHere(key) ? value : {}])
  const { requireLock, searcher, profile, profiles } = readTable(Object.fromEntries(given), ROOT_FIELDS, {
    ...place,
    alsoRead: ALSO_READ,
    ...(place.style === 'snake' ? {} : { foreignKeys: [] }),
  })
  return {
    settings: {
      ...(requireLock === undefined ? {} : { requireLock }),
      ...(searcher === undefined ? {} : { searcher }),
    },
    profiles: { ...(isRecord(profiles) ? profiles : {}), ...(isRecord(profile) ? profile : {}) },
  }
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
  const read = options.readFile ?? ((file: string) => readLimitedFile(file, MAX_CONFIG_BYTES))
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
    if (cause instanceof RangeError) throw tooLarge(path)
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

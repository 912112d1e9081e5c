import { dirname, isAbsolute, join } from 'node:path'
import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import type { Mode } from '../../registry/mode.ts'
import { type ConfigFile, MAX_CONFIG_BYTES, parseConfigFile, tooLarge } from './config-file.ts'
import { readLimitedFile } from './read-limited-file.ts'
import type { Variables } from './read-table.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'
import {
  type Environment,
  enabledServers,
  placeOf,
  type ReadOptions,
  readServers,
  type ServerConfig,
} from './server-config.ts'
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

/** Where to look for config, and what its variables expand to. */
export interface LoadOptions {
  /** The project folder; the base of relative paths, and the value of `${workspaceFolder}`. */
  readonly cwd: string
  /** The values of `${NAME}`, and the source of `TOOLCRIB_*` settings. */
  readonly env: Environment
  /** Read only this file. */
  readonly path?: string
  /** Command-line flags, by the keys of `[tools]`; they take precedence over everything else. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** The user's config folder; see `configDirectory()`. */
  readonly userDirectory?: string
  /** Returns a replacement for a server whose table is invalid; without it, one such server fails the whole config. */
  readonly onBadServer?: (error: ToolcribError) => ServerConfig
  /** Reads a file; rejects with the code `ENOENT` when it does not exist. Default: reads from disk. */
  readonly readFile?: (path: string) => Promise<string>
}

/** A valid config, read from one file or several. */
export interface Config {
  /** Options for `new ToolRegistry()`. */
  readonly tools: ToolsConfig
  /** The configured searcher; `openFromConfig()` uses `hybrid` when absent. */
  readonly searcher?: SearcherChoice
  /**
   * Whether servers may start only when a lockfile approves them: `require_lock = true` in any file, in the
   * environment or in the overrides. No file can revoke what another one requires.
   */
  readonly requireLock?: boolean
  /** false: the doors do not remember which tools served which requests. */
  readonly memory?: boolean
  /** true: the doors remember the text of requests too, not only their vectors. */
  readonly memoryText?: boolean
  /** What each client of a gateway may see, by profile name. */
  readonly profiles?: Readonly<Record<string, Profile>>
  /** The enabled servers by name, with their variables expanded. */
  readonly servers: Readonly<Record<string, ServerConfig>>
  /** The files that were read, the user's first. */
  readonly files: readonly string[]
  /** The servers that each of these files defines; absent without files. */
  readonly layers?: readonly ConfigLayer[]
}

/** The servers that one file defines, including those that are disabled or redefined by a later file. */
export interface ConfigLayer {
  readonly file: string
  readonly servers: readonly string[]
}

const FILE_NAMES = ['toolcrib.toml', 'mcp.toml', '.mcp.json', 'mcp.json']

/**
 * Finds and reads the config: the file at `path` (or `TOOLCRIB_CONFIG`) alone, else the first of `toolcrib.toml`,
 * `mcp.toml`, `.mcp.json` and `mcp.json` in the project, over the first of them in the user's config folder.
 * Precedence: `overrides`, `TOOLCRIB_*` variables, project config, user config. Returns an empty config when there is
 * no file. Throws `config-invalid`, with the line number, for an invalid one.
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
  checkProfiles(profiles, Object.keys(servers))
  return {
    ...settingsOf(tools.reduce(overlayTools), profiles),
    servers: enabledServers(servers),
    ...originOf(layers),
  }
}

/** Reads config that is already parsed: `mcpServers`, `servers` or `server` by name, `tools`, and `profile` by name. */
export function readConfig(data: unknown, options: ReadOptions = {}): Config {
  const { tools, servers, profiles } = readLayer(data, options)
  checkProfiles(profiles, Object.keys(servers))
  const layers = options.file ? [{ file: options.file.path, servers }] : []
  return { ...settingsOf(tools, profiles), servers: enabledServers(servers), ...originOf(layers) }
}

function settingsOf(table: ToolsTable, profiles: Layer['profiles']): Omit<Config, 'servers' | 'files'> {
  const { searcher, requireLock, memory, memoryText, ...tools } = table
  return {
    tools: toRegistryOptions(tools),
    ...(searcher === undefined ? {} : { searcher: searcher as SearcherChoice }),
    ...(requireLock === true ? { requireLock } : {}),
    ...(typeof memory === 'boolean' ? { memory } : {}),
    ...(typeof memoryText === 'boolean' ? { memoryText } : {}),
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

/** One file, before it is merged with the others. */
interface Layer {
  readonly tools: ToolsTable
  /** Includes disabled servers: merged over another file, they disable the server of the same name. */
  readonly servers: Readonly<Record<string, ServerConfig>>
  readonly profiles: Readonly<Record<string, Profile>>
}

function readLayer(data: unknown, options: ReadOptions): Layer {
  const { env = {}, workspaceFolder, file } = options
  const root = placeOf(file, [])
  if (!isRecord(data)) throw invalid(root, [], 'a config must be a table of keys')
  const variables = { env, workspaceFolder, configFolder: file && dirname(file.path) }
  const servers = readServers(data, options)
  const { settings, profiles: tables } = readRoot(data, root)
  const tools = data.tools === undefined ? {} : readTools(data.tools, placeOf(file, ['tools']), variables)
  const profiles: Record<string, Profile> = {}
  for (const [name, table] of Object.entries(tables))
    profiles[name] = readProfile(name, table, placeOf(file, ['profile', name]), variables)
  return { tools: overlayTools(settings, tools), servers, profiles }
}

/** The keys of a config. `readConfig()` itself produces the last ones, so they are accepted too. */
const ROOT_FIELDS = {
  tools: 'table',
  server: 'table',
  servers: 'table',
  mcpServers: 'table',
  profile: 'table',
  requireLock: 'flag',
} as const satisfies Fields
const ALSO_READ = { profiles: 'table', searcher: SEARCHER_KIND } as const satisfies Fields

/** The top-level settings and the tables of profiles. */
interface Root {
  readonly settings: ToolsTable
  readonly profiles: Readonly<Record<string, unknown>>
}

/**
 * Reads the top-level keys other than servers and tools. In our own files every unknown key is an error; in files
 * shared with other programs, only a key that resembles a known one is.
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

async function readFiles(options: LoadOptions): Promise<ConfigFile[]> {
  const { cwd, env, path = env.TOOLCRIB_CONFIG, userDirectory = configDirectory(env) } = options
  const read = options.readFile ?? ((file: string) => readLimitedFile(file, MAX_CONFIG_BYTES))
  if (path !== undefined && path !== '') {
    const absolute = isAbsolute(path) ? path : join(cwd, path)
    const text = await readText(absolute, read)
    if (text === undefined)
      throw new ToolcribError(
        'config-invalid',
        `config file ${absolute} does not exist; correct the path, or write the file with "toolcrib add"`,
      )
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

/** Every path where a config may be found, existing or not. */
export function configPaths({ cwd, env, path, userDirectory = configDirectory(env) }: LoadOptions): string[] {
  const explicit = path ?? env.TOOLCRIB_CONFIG
  if (explicit) return [isAbsolute(explicit) ? explicit : join(cwd, explicit)]
  const layers = [userDirectory, cwd].filter((directory) => directory !== undefined)
  return layers.flatMap((directory) => FILE_NAMES.map((name) => join(directory, name)))
}

/** `[profile.NAME]`: what one client of a gateway sees. Absent keys fall back to the rest of the config. */
export interface Profile {
  /** The servers whose tools are visible. Default: all. */
  readonly servers?: readonly string[]
  /** Names and globs of tools, as in `[tools]`. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly pinned?: readonly string[]
  readonly mode?: Mode
  /** For older clients. list: tools that a search found appear in their list; doors (default): the list stays the same. */
  readonly activate?: 'doors' | 'list'
}

const PROFILE_FIELDS = {
  servers: 'texts',
  allow: 'texts',
  deny: 'texts',
  pinned: 'texts',
  mode: { oneOf: ['full', 'lazy', 'auto'] },
  activate: { oneOf: ['doors', 'list'] },
} as const satisfies Fields

/** The profile name is part of a URL, `/mcp/<profile>`. */
const PROFILE_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Reads one profile's table, with its variables expanded. Throws `config-invalid` for anything invalid. */
function readProfile(name: string, table: unknown, place: Place, variables: Variables): Profile {
  if (!PROFILE_NAME.test(name))
    throw invalid(place, [], 'invalid profile name; use up to 64 letters, digits, "_", "." and "-"')
  const { values, faults } = fillTable(
    readTable(table, PROFILE_FIELDS, place),
    PROFILE_FIELDS,
    place,
    variables,
  )
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}

/** Throws `config-invalid` for a profile that names a server that is not configured. Globs may match nothing. */
function checkProfiles(profiles: Readonly<Record<string, Profile>>, configured: readonly string[]): void {
  for (const [profile, { servers = [] }] of Object.entries(profiles)) {
    const unknown = servers.find((server) => !server.includes('*') && !configured.includes(server))
    if (unknown === undefined) continue
    const nearest = nearestName(unknown, configured)
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    throw new ToolcribError(
      'config-invalid',
      `profile "${profile}" names the server "${unknown}", which does not exist; the config has ${configured.join(', ') || 'none'}${hint}`,
    )
  }
}

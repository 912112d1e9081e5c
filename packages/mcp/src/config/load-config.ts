import { dirname, isAbsolute, join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyObject,
  anyText,
  checkOptions,
  describeError,
  isRecord,
  type OptionRules,
  required,
} from '@toolcrib/core/internal'
import { type ConfigFile, MAX_CONFIG_BYTES, parseConfigFile, tooLarge } from './config-file.ts'
import { type GatewayConfig, overlayGateway, readGateway } from './gateway-config.ts'
import { type ApiConfig, readApi } from './openapi-config.ts'
import { checkProfiles, type Profile, readProfile } from './profile-config.ts'
import { readLimitedFile } from './read-limited-file.ts'
import { enabledServers, placeOf, type ReadOptions, readServers } from './read-servers.ts'
import { invalid } from './read-table.ts'
import { readRoot } from './root-table.ts'
import { readScripts, type ScriptsConfig } from './scripts-config.ts'
import type { Environment, ServerConfig } from './server-config.ts'
import { readSkills, type SkillsConfig } from './skills-config.ts'
import {
  overlayTools,
  readTools,
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

/** Also the rules of `watchConfig()`. */
export const LOAD_RULES: OptionRules<LoadOptions> = {
  cwd: required(anyText),
  env: required(anyObject),
  path: anyText,
  overrides: anyObject,
  userDirectory: anyText,
  onBadServer: anyFunction,
  readFile: anyFunction,
}

const READ_RULES: OptionRules<ReadOptions> = {
  env: anyObject,
  workspaceFolder: anyText,
  file: anyObject,
  onBadServer: anyFunction,
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
  /** The tools that the user always allows although `ask` names them, each with the SHA-256 of its definition. */
  readonly allowUnasked?: Readonly<Record<string, string>>
  /** What each client of a gateway may see, by profile name. */
  readonly profiles?: Readonly<Record<string, Profile>>
  /** Who may use the gateway, and how much of it. */
  readonly gateway?: GatewayConfig
  /** Programs over tools, for `serve` and `chat`. */
  readonly scripts?: ScriptsConfig
  /** Instructions in folders. */
  readonly skills?: SkillsConfig
  /** The APIs whose operations are tools, by name. */
  readonly openapi?: Readonly<Record<string, ApiConfig>>
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
  checkOptions('loadConfig()', options, LOAD_RULES)
  const { env, cwd, overrides = {}, onBadServer } = options
  const files = await readFiles(options)
  const bad = onBadServer ? { onBadServer } : {}
  const layers = files.map((file) => ({
    file: file.path,
    ...readLayer(file.data, { env, workspaceFolder: cwd, file, ...bad }),
  }))
  const { userDirectory = configDirectory(env) } = options
  for (const layer of layers)
    if (layer.tools.allowUnasked !== undefined && dirname(layer.file) !== userDirectory)
      throw new ToolcribError('config-invalid', `${layer.file}: ${NOT_HERE}`)
  const tools = [
    ...layers.map((layer) => layer.tools),
    toolsFromEnvironment(env),
    readTools(overrides, placeOf(undefined, []), { env, workspaceFolder: cwd }),
  ]
  const servers = Object.fromEntries(layers.flatMap((layer) => Object.entries(layer.servers)))
  const profiles = Object.fromEntries(layers.flatMap((layer) => Object.entries(layer.profiles)))
  const openapi = Object.fromEntries(layers.flatMap((layer) => Object.entries(layer.openapi)))
  const gateway = layers.map((layer) => layer.gateway).reduce(overlayGateway, {})
  const scripts: ScriptsConfig = Object.assign({}, ...layers.map((layer) => layer.scripts))
  const paths = layers.flatMap((layer) => layer.skills.paths ?? [])
  const skills: SkillsConfig = paths.length > 0 ? { paths } : {}
  checkProfiles(profiles, [...Object.keys(servers), ...Object.keys(openapi)])
  return {
    ...settingsOf(tools.reduce(overlayTools), { profiles, gateway, scripts, openapi, skills }),
    servers: enabledServers(servers),
    ...originOf(layers),
  }
}

const NOT_HERE =
  '"allow_unasked" of [tools] belongs in your own config: a project must not decide what runs without asking you'

/** Reads config that is already parsed: `mcpServers`, `servers` or `server` by name, `tools`, `gateway`, and `profile` by name. */
export function readConfig(data: unknown, options: ReadOptions = {}): Config {
  checkOptions('readConfig()', options, READ_RULES)
  const { tools, servers, ...settings } = readLayer(data, options)
  checkProfiles(settings.profiles, [...Object.keys(servers), ...Object.keys(settings.openapi)])
  const layers = options.file ? [{ file: options.file.path, servers }] : []
  return {
    ...settingsOf(tools, settings),
    servers: enabledServers(servers),
    ...originOf(layers),
  }
}

function settingsOf(
  table: ToolsTable,
  { profiles, gateway, scripts, openapi, skills }: Omit<Layer, 'tools' | 'servers'>,
): Omit<Config, 'servers' | 'files'> {
  const { searcher, requireLock, memory, memoryText, allowUnasked, ...tools } = table
  return {
    tools: toRegistryOptions(tools),
    ...(allowUnasked === undefined ? {} : { allowUnasked: allowUnasked as Record<string, string> }),
    ...(searcher === undefined ? {} : { searcher: searcher as SearcherChoice }),
    ...(requireLock === true ? { requireLock } : {}),
    ...(typeof memory === 'boolean' ? { memory } : {}),
    ...(typeof memoryText === 'boolean' ? { memoryText } : {}),
    ...Object.fromEntries(
      Object.entries({ profiles, gateway, scripts, openapi, skills }).filter(
        ([, of]) => Object.keys(of).length > 0,
      ),
    ),
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
  readonly gateway: GatewayConfig
  readonly scripts: ScriptsConfig
  readonly openapi: Readonly<Record<string, ApiConfig>>
  readonly skills: SkillsConfig
}

function readLayer(data: unknown, options: ReadOptions): Layer {
  const { env = {}, workspaceFolder, file } = options
  const root = placeOf(file, [])
  if (!isRecord(data)) throw invalid(root, [], 'a config must be a table of keys')
  const variables = { env, workspaceFolder, configFolder: file && dirname(file.path) }
  const servers = readServers(data, options)
  const { settings, profiles: tables, apis } = readRoot(data, root)
  const tools = data.tools === undefined ? {} : readTools(data.tools, placeOf(file, ['tools']), variables)
  const profiles: Record<string, Profile> = {}
  for (const [name, table] of Object.entries(tables))
    profiles[name] = readProfile(name, table, placeOf(file, ['profile', name]), variables)
  const gateway =
    data.gateway === undefined ? {} : readGateway(data.gateway, (keys) => placeOf(file, keys), variables)
  const scripts =
    data.scripts === undefined ? {} : readScripts(data.scripts, placeOf(file, ['scripts']), variables)
  const skills =
    data.skills === undefined ? {} : readSkills(data.skills, placeOf(file, ['skills']), variables)
  const openapi: Record<string, ApiConfig> = {}
  for (const [name, table] of Object.entries(apis))
    openapi[name] = readApi(name, table, placeOf(file, ['openapi', name]), variables)
  return { tools: overlayTools(settings, tools), servers, profiles, gateway, scripts, openapi, skills }
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
        `config file ${absolute} does not exist; correct the path, or write the file with "toolcrib add <name> -- <command>"`,
      )
    return [await parseConfigFile(text, absolute)]
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

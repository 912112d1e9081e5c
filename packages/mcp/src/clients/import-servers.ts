import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ToolcribError } from '@toolcrib/core'
import {
  anyText,
  checkOptions,
  type OptionRules,
  required,
  textList,
  trueOrFalse,
} from '@toolcrib/core/internal'
import type { ServerConfig } from '../config/server-config.ts'
import { configDirectory } from '../config/user-folders.ts'
import { literalSecrets } from '../lock/server-command.ts'
import { type ClientFile, type ClientPlace, clientFiles, PLACE_RULES } from './client-files.ts'
import { loadFormat } from './load-format.ts'
import { type ExistingFile, type ImportPlan, planImport } from './plan-import.ts'
import type { ImportedServer } from './read-servers.ts'
import { ServersFile } from './servers-file.ts'

/** Options of `importServers()`: whose programs to read, and which config to add their servers to. */
export interface ImportOptions extends ClientPlace {
  /** Names of programs; empty means all. */
  readonly clients: readonly string[]
  readonly target: string
  /** true: nothing is written. */
  readonly isDry: boolean
  /** true: the target is replaced, and its content is lost. */
  readonly isReplaced?: boolean
  /**
   * true: the servers of the project in `cwd` are left out, unless `clients` names the program. Somebody else may have
   * written their commands, and they may not work in another folder.
   */
  readonly isOfUser?: boolean
}

/** What `importServers()` did, or would do. */
export interface ImportOutcome {
  readonly target: string
  readonly files: ImportPlan['files']
  /** Names of the servers that were added, or would be. */
  readonly added: readonly string[]
  /** Names of the servers that were already in the target. */
  readonly kept: readonly string[]
  readonly written: boolean
  /** True when the target was replaced, or would be: its content is lost. */
  readonly replaced: boolean
  /** The project's files that were left out because of `isOfUser`. */
  readonly leftOut: readonly string[]
  /** The files that were looked for, including those that do not exist. */
  readonly looked: readonly string[]
  /** How many variables and headers were copied with their values. */
  readonly copiedValues: number
  /** Where the added servers have literals that look like secrets: `env.API_KEY`, `args.3`. */
  readonly secrets: readonly { readonly server: string; readonly places: readonly string[] }[]
  /** Variables that the added servers need, and that have no value. */
  readonly variables: readonly { readonly name: string; readonly servers: readonly string[] }[]
  /** The git repository that contains the target; undefined if there is none. */
  readonly repository?: string
}

const IMPORT_RULES: OptionRules<ImportOptions> = {
  ...PLACE_RULES,
  clients: required(textList),
  target: required(anyText),
  isDry: required(trueOrFalse),
  isReplaced: trueOrFalse,
  isOfUser: trueOrFalse,
}

/** Finds servers, and adds the new ones to the target. Throws `config-invalid` for an unknown option and an invalid target. */
export async function importServers(options: ImportOptions): Promise<ImportOutcome> {
  checkOptions('importServers()', options, IMPORT_RULES)
  const { clients, target, isDry, isReplaced = false, isOfUser = false, ...place } = options
  const known = wantedFiles(clients, place)
  const isLeftOut = (file: ClientFile) => isOfUser && clients.length === 0 && file.isOfProject === true
  const wanted = known.filter((file) => !isLeftOut(file))
  // In the home folder, a program's project file belongs to the user too.
  const isWanted = (file: ClientFile) =>
    wanted.some(({ path, read }) => path === file.path && read === file.read)
  const leftOut = known.filter((file) => isLeftOut(file) && !isWanted(file))
  const others = planImport(await readExisting(leftOut), new Map()).files
  const file = await openTarget(target, isReplaced)
  const present = file.servers()
  const plan = planImport(await readExisting(wanted), present, await usersServers(target, place))
  const isWritten = !isDry && plan.added.size > 0
  if (isWritten) {
    file.add(plan.added)
    await file.save()
  }
  const repository = await repositoryOf(target)
  return {
    target,
    files: plan.files.filter(({ servers, problem }) => servers.length > 0 || problem !== undefined),
    added: [...plan.added.keys()],
    kept: [...present.keys()],
    written: isWritten,
    replaced: file.isReplaced && plan.added.size > 0,
    leftOut: others.filter(({ servers }) => servers.length > 0).map(({ path }) => path),
    looked: [...new Set(wanted.map(({ path }) => path))],
    copiedValues: [...plan.added.values()].reduce((sum, server) => sum + literalValues(server), 0),
    secrets: [...plan.added]
      .map(([server, written]) => ({ server, places: literalSecrets(written as ServerConfig) }))
      .filter(({ places }) => places.length > 0),
    variables: missingVariables(plan.added, place.env),
    ...(repository === undefined ? {} : { repository }),
  }
}

async function openTarget(target: string, isReplaced: boolean): Promise<ServersFile> {
  try {
    return await ServersFile.open(target, { isReplaced })
  } catch (cause) {
    if (!(cause instanceof ToolcribError)) throw cause
    throw new ToolcribError('config-invalid', `${cause.message}, or replace it with --force`, { cause })
  }
}

function wantedFiles(clients: readonly string[], place: ClientPlace): ClientFile[] {
  const files = clientFiles(place)
  const known = new Set(files.map(({ client }) => client))
  const unknown = clients.find((client) => !known.has(client))
  if (unknown === undefined)
    return files.filter(({ client }) => clients.length === 0 || clients.includes(client))
  throw new ToolcribError(
    'config-invalid',
    `unknown program "${unknown}"; use one of ${[...known].join(', ')}`,
  )
}

/** The servers of the user's config, which every project sees as well. */
async function usersServers(
  target: string,
  { env }: ClientPlace,
): Promise<ReadonlyMap<string, ImportedServer>> {
  const folder = configDirectory(env)
  const path = folder === undefined ? undefined : join(folder, 'toolcrib.toml')
  if (path === undefined || path === target) return new Map()
  try {
    return (await ServersFile.open(path)).servers()
  } catch {
    // A broken user config is reported by the commands that use it.
    return new Map()
  }
}

async function readExisting(files: readonly ClientFile[]): Promise<ExistingFile[]> {
  const read = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file.path, 'utf8').catch(() => undefined)
      // Most of these programs are not installed.
      return text === undefined ? [] : [{ file, format: await loadFormat(file.path), text }]
    }),
  )
  return read.flat()
}

function literalValues({ env, headers }: ImportedServer): number {
  const values = [...Object.values(env ?? {}), ...Object.values(headers ?? {})]
  return values.filter((value) => !String(value).includes('${')).length
}

/** Variables without a default that servers refer to, and the environment lacks. */
export function missingVariables(
  servers: ReadonlyMap<string, ImportedServer>,
  env: ClientPlace['env'],
): ImportOutcome['variables'] {
  const byName = new Map<string, string[]>()
  for (const [server, { command, args, env: own, cwd, url, headers }] of servers)
    for (const name of variablesIn(JSON.stringify([command, args, own, cwd, url, headers])))
      if (env[name] === undefined && !OWN_VARIABLES.has(name))
        byName.set(name, [...(byName.get(name) ?? []), server])
  return [...byName].map(([name, users]) => ({ name, servers: users }))
}

/** Variables that the config itself gives a value. */
const OWN_VARIABLES: ReadonlySet<string> = new Set(['workspaceFolder', 'configFolder', 'userHome'])

function variablesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name))
}

/** The nearest folder above with a `.git`, unless git ignores the file. */
async function repositoryOf(path: string, from: string = path): Promise<string | undefined> {
  const folder = dirname(path)
  const isRepository = await stat(join(folder, '.git')).then(
    () => true,
    () => false,
  )
  if (isRepository) return (await isIgnored(folder, from)) ? undefined : folder
  return folder === dirname(folder) ? undefined : repositoryOf(folder, from)
}

async function isIgnored(repository: string, file: string): Promise<boolean> {
  try {
    await promisify(execFile)('git', ['-C', repository, 'check-ignore', '-q', file], { timeout: 5_000 })
    return true
  } catch {
    // Not ignored, or git is not installed.
    return false
  }
}

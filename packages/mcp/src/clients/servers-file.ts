import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isRecord, maskSecrets, nearestName } from '@toolcrib/core/internal'
import { readConfig } from '../config/load-config.ts'
import type { Profile } from '../config/profile-config.ts'
import { makeFolder } from '../stores/files/make-folder.ts'
import { writeWhole } from '../stores/files/write-whole.ts'
import { type DiffLine, diffLines } from './line-diff.ts'
import { loadFormat } from './load-format.ts'
import { type ImportedServer, serversUnder } from './read-servers.ts'
import { invalid, type TextFormat } from './text-format.ts'

/**
 * A toolcrib config whose servers can be changed: in memory first, then with `save()`. Everything else in it, including
 * comments, does not change.
 */
export class ServersFile {
  /** The file; it need not exist yet. */
  readonly path: string
  /** The text as it was read; undefined when the file does not exist. */
  readonly before: string | undefined
  /** true: the old content is dropped. */
  readonly isReplaced: boolean
  readonly #format: TextFormat
  #text: string

  private constructor(path: string, format: TextFormat, before: string | undefined, isReplaced: boolean) {
    this.path = path
    this.before = before
    this.isReplaced = isReplaced && (before ?? '').trim() !== ''
    this.#format = format
    this.#text = isReplaced ? '' : (before ?? '')
  }

  /**
   * Opens a `.toml` or `.json` file, which need not exist. With `isReplaced`, its content is ignored. Throws
   * `config-invalid` for a file that cannot be read or parsed.
   */
  static async open(path: string, { isReplaced = false } = {}): Promise<ServersFile> {
    if (!/\.(?:toml|json)$/.test(path))
      throw invalid(`${path} is neither .toml nor .json; choose a file with one of these extensions`)
    const file = new ServersFile(path, await loadFormat(path), await readText(path), isReplaced)
    file.servers()
    return file
  }

  /** The text with the changes so far. */
  get text(): string {
    return this.#text
  }

  /** What changes, line by line, with secrets masked. */
  get diff(): readonly DiffLine[] {
    const lines = diffLines(this.before ?? '', this.#text)
    return lines.map((line) => ({ ...line, text: maskSecrets(line.text, () => '•••') }))
  }

  /** The servers in it, by name. */
  servers(): ReadonlyMap<string, ImportedServer> {
    return serversUnder('server', 'servers', 'mcpServers')(this.#data())
  }

  /** Adds servers, or replaces those of the same name. */
  add(servers: Iterable<readonly [name: string, server: ImportedServer]>): void {
    for (const [name, server] of servers) this.#set([this.#keyOf(name), name], server)
  }

  /** Also takes it out of the profiles that name it. Throws `config-invalid` when there is no such server. */
  remove(name: string): void {
    this.#require(name)
    for (const [profile, { servers }] of this.profiles())
      if (servers?.includes(name))
        this.#set([this.#profileKey(profile), profile, 'servers'], without(servers, name))
    this.#set([this.#keyOf(name), name], undefined)
  }

  /** The profiles in it, by name. */
  profiles(): ReadonlyMap<string, Pick<Profile, 'servers'>> {
    const data = this.#data()
    return new Map(PROFILE_KEYS.flatMap((key) => Object.entries(tableAt(data, [key]) as Profiles)))
  }

  /** Whether a token or an OAuth scope of the gateway opens a profile, or the profile has other keys than its servers. */
  isProfileInUse(name: string): boolean {
    const data = this.#data()
    const tokens = Object.values(tableAt(data, ['gateway', 'token'])).map((token) => Object(token).profile)
    const scopes = Object.values(tableAt(data, ['gateway', 'oauth', 'scopes']))
    const others = Object.keys(this.profiles().get(name) ?? {}).filter((key) => key !== 'servers')
    return others.length > 0 || [...tokens, ...scopes].includes(name)
  }

  /** Sets the servers that a profile shows; undefined removes the profile. */
  setProfile(name: string, servers: readonly string[] | undefined): void {
    const path = [this.#profileKey(name), name]
    if (servers === undefined) this.#set(path, undefined)
    else if (this.profiles().has(name)) this.#set([...path, 'servers'], servers)
    else this.#set(path, { servers })
  }

  /** Sets or removes `disabled = true`. Throws `config-invalid` when there is no such server. */
  setDisabled(name: string, isDisabled: boolean): void {
    this.#require(name)
    const path = [this.#keyOf(name), name]
    const table = tableAt(this.#data(), path)
    if (Object.hasOwn(table, 'enabled')) this.#set([...path, 'enabled'], undefined)
    if (isDisabled || Object.hasOwn(table, 'disabled'))
      this.#set([...path, 'disabled'], isDisabled ? true : undefined)
  }

  /** Sets one list of a server, or removes it when it is empty. Throws `config-invalid` when there is no such server. */
  setList(name: string, key: 'pinned' | 'deny', values: readonly string[]): void {
    this.#require(name)
    const path = [this.#keyOf(name), name]
    const isThere = Object.hasOwn(tableAt(this.#data(), path), key)
    if (values.length > 0 || isThere) this.#set([...path, key], values.length > 0 ? values : undefined)
  }

  /** Sets the search hint of a tool; an empty one is removed. Throws `config-invalid` when there is no such server. */
  setHint(name: string, tool: string, hint: string): void {
    this.#require(name)
    const path = [this.#keyOf(name), name, 'hints']
    const { [tool]: _before, ...others } = tableAt(this.#data(), path)
    const hints = hint === '' ? others : { ...others, [tool]: hint }
    this.#set(path, Object.keys(hints).length > 0 ? hints : undefined)
  }

  /** Sets a variable in the environment of a server. Throws `config-invalid` when there is no such server. */
  setVariable(name: string, variable: string, value: string): void {
    this.#require(name)
    const path = [this.#keyOf(name), name, 'env']
    this.#set(path, { ...tableAt(this.#data(), path), [variable]: value })
  }

  /**
   * Lets a tool run without the question while its definition has this hash, or no longer.
   *
   * @example
   * ```ts
   * import { ServersFile } from 'toolcrib/clients'
   *
   * const file = await ServersFile.open('toolcrib.toml')
   * file.setAllowedUnasked('mcp__files__move_file', 'the SHA-256 of its definition')
   * console.log(file.text)   // nothing is written before save()
   * ```
   */
  setAllowedUnasked(tool: string, definition: string | undefined): void {
    const path = ['tools', 'allow_unasked']
    const { [tool]: _, ...others } = tableAt(this.#data(), path)
    const all = definition === undefined ? others : { ...others, [tool]: definition }
    this.#set(path, Object.keys(all).length > 0 ? all : undefined)
  }

  /** Whether it says which tools are asked about. */
  get asks(): boolean {
    return tableAt(this.#data(), ['tools']).ask !== undefined
  }

  /**
   * Adds a kind or a glob of tools to those that are asked about.
   *
   * @example
   * ```ts
   * import { ServersFile } from 'toolcrib/clients'
   *
   * const file = await ServersFile.open('toolcrib.toml')
   * file.addAsk('writes')
   * console.log(file.asks)   // true; nothing is written before save()
   * ```
   */
  addAsk(pattern: string): void {
    const tools = tableAt(this.#data(), ['tools'])
    const list = [...(Array.isArray(tools.ask) ? tools.ask : []), pattern]
    if (Object.keys(tools).length > 0) this.#set(['tools', 'ask'], list)
    else this.#set(['tools'], { ask: list })
  }

  /** Writes the changes, if there are any. A new file is readable by its owner only. */
  async save(): Promise<void> {
    if (this.#text !== this.before) await replaceText(this.path, this.#text)
  }

  #set(path: readonly string[], value: unknown): void {
    let text: string
    try {
      text = this.#format.set(this.#text, path, value)
      readConfig(this.#format.parse(text), { env: {}, onBadServer: () => ({}) })
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw invalid(`"${path[1]}" cannot be written to ${this.path}: ${reason}`, cause)
    }
    this.#text = text
  }

  #require(name: string): void {
    const known = [...this.servers().keys()]
    if (known.includes(name)) return
    const nearest = nearestName(name, known)
    const step = nearest === undefined ? `it has ${known.join(', ') || 'none'}` : `did you mean "${nearest}"?`
    throw invalid(`${this.path} has no server "${name}"; ${step}`)
  }

  /** The key under which a server is, or would be written: a file keeps its own. */
  #keyOf(name: string): string {
    const data = this.#data()
    const keys = KEYS.filter((key) => isRecord(data) && isRecord(data[key]))
    const holder = keys.find((key) => Object.hasOwn(tableAt(data, [key]), name))
    return holder ?? keys[0] ?? (this.#format.name === 'toml' ? 'server' : 'mcpServers')
  }

  #profileKey(name: string): string {
    const data = this.#data()
    return PROFILE_KEYS.find((key) => Object.hasOwn(tableAt(data, [key]), name)) ?? 'profile'
  }

  #data(): unknown {
    try {
      return this.#format.parse(this.#text)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const [, line, column, rest = reason] = /^line (\d+), column (\d+): (.*)$/s.exec(reason) ?? []
      const place = line === undefined ? this.path : `${this.path}:${line}:${column}`
      throw invalid(`${place}: ${rest}; correct it, or choose another file`, cause)
    }
  }
}

const KEYS = ['server', 'servers', 'mcpServers']
type Profiles = Readonly<Record<string, Pick<Profile, 'servers'>>>

const PROFILE_KEYS = ['profile', 'profiles']

function without(names: readonly string[], name: string): readonly string[] {
  return names.filter((each) => each !== name)
}

function tableAt(data: unknown, path: readonly string[]): Readonly<Record<string, unknown>> {
  const found = path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), data)
  return isRecord(found) ? found : {}
}

/** Returns a file's text; undefined when it does not exist. Throws `config-invalid` when it cannot be read. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalid(`${path} cannot be read: ${reason}`, cause)
  }
}

/**
 * Replaces a file atomically, and keeps its mode; a link is kept, and its target is replaced. A new file is readable
 * only by its owner. Throws `config-invalid` if it cannot be written.
 */
export async function replaceText(path: string, content: string | Uint8Array): Promise<void> {
  try {
    const target = await realpath(path).catch(() => path)
    // Configs contain values of variables, which may be secrets.
    const mode = await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    )
    await makeFolder(dirname(target), { mode: 0o777 })
    await writeWhole(target, content, { mode })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalid(`${path} cannot be written: ${reason}`, cause)
  }
}

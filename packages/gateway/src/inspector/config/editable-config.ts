import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import {
  type Approval,
  approveChanges,
  changeMatcher,
  compareWithLock,
  type FoundConfig,
  findConfig,
  type LockChange,
  observeServers,
  type ServerConfig,
  type UnmatchedInConfig,
  unmatchedInConfig,
  writeLocks,
} from '@toolcrib/mcp'
import type { DiffLine, ServersFile } from '@toolcrib/mcp/clients'
import type { ConfigSource } from '../inspector-options.ts'

/** A change of one server in the config. */
export type ServerEdit = { readonly server: string } & (
  | { readonly kind: 'pin' | 'unpin' | 'hide' | 'show'; readonly tool: string }
  | { readonly kind: 'hint'; readonly tool: string; readonly hint: string }
  | { readonly kind: 'disable' | 'enable'; readonly others: readonly string[] }
  | ({ readonly kind: 'add' } & Address)
  | ({ readonly kind: 'change' } & Address)
)

/** What is absent stays as it is. */
interface Address {
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What an edit would change in a config file. */
export interface ConfigDraft {
  readonly path: string
  /** With secrets masked. */
  readonly diff: readonly DiffLine[]
  /** Identifies this change of this file. */
  readonly digest: string
}

/** Other programs change the files too, so what was read is reused only briefly. */
const FRESH_MS = 1_000
/**
 * Comparing takes longer with every tool, and the page asks after each call: one answer is valid until a server
 * changes.
 */
const COMPARED_MS = 5_000
const CHANGING: ReadonlySet<string> = new Set([
  'server-synced',
  'server-state',
  'tool-quarantined',
  'tool-released',
])

/**
 * Other processes learn of changed lists too, and save them: lists of servers that are asleep are read from the store
 * this often while somebody looks, running servers are asked. More often would look like a list that keeps changing.
 */
const RECALL_EVERY_MS = 5_000
const ASK_EVERY_MS = 35_000

/** The config of the running servers; changes are written and applied one after another. */
export class EditableConfig {
  readonly #source: ConfigSource
  readonly #now: () => number
  #found: { readonly at: number; readonly config: Promise<FoundConfig> } | undefined
  #compared: { readonly at: number; readonly changes: Promise<readonly LockChange[] | undefined> } | undefined
  #unmatched: { readonly at: number; readonly patterns: Promise<readonly UnmatchedInConfig[]> } | undefined
  #recalledAt = Number.NEGATIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #turn: Promise<unknown> = Promise.resolve()
  readonly #unsubscribe: () => void

  constructor(source: ConfigSource, now: () => number) {
    this.#source = source
    this.#now = now
    this.#unsubscribe = source.opened.registry.subscribe(({ type }) => {
      if (!CHANGING.has(type)) return
      this.#compared = undefined
      this.#unmatched = undefined
    })
  }

  close(): void {
    this.#unsubscribe()
  }

  /** The current config and its lockfiles; if they cannot be read, those of the start. */
  found(): Promise<FoundConfig> {
    const at = this.#now()
    if (this.#found === undefined || at - this.#found.at > FRESH_MS)
      this.#found = { at, config: findConfig(this.#source.find).catch(() => this.#source.opened) }
    return this.#found.config
  }

  /** The file that defines a server: the last one that names it, or the last file of all. */
  async fileOf(server: string | undefined): Promise<string | undefined> {
    const { layers, files } = (await this.found()).config
    const own = layers?.findLast(({ servers }) => server !== undefined && servers.includes(server))
    return own?.file ?? files.at(-1)
  }

  /** The option that names the lockfile to commands, if it is not the one beside the config. */
  get lockOption(): readonly string[] {
    const { lockfilePath, cwd = process.cwd() } = this.#source.find
    return lockfilePath === undefined ? [] : ['--lockfile', resolve(cwd, lockfilePath)]
  }

  /** The disabled servers in the files. */
  async disabled(): Promise<readonly string[]> {
    const { files } = (await this.found()).config
    const opened = await Promise.all(files.map((file) => openFile(file).catch(() => undefined)))
    const all = opened.flatMap((file) => [...(file?.servers() ?? [])])
    return [...new Set(all.filter(([, { disabled }]) => disabled === true).map(([name]) => name))]
  }

  /** How the servers differ from their approval; undefined if no lockfile applies. */
  changes(): Promise<readonly LockChange[] | undefined> {
    const at = this.#now()
    if (this.#compared === undefined || at - this.#compared.at > COMPARED_MS)
      this.#compared = { at, changes: this.#compare().catch((error) => this.#forget(error)) }
    return this.#compared.changes
  }

  /** The names and globs of the config that certainly match no tool. */
  unmatched(): Promise<readonly UnmatchedInConfig[]> {
    const at = this.#now()
    if (this.#unmatched === undefined || at - this.#unmatched.at > COMPARED_MS) {
      const patterns = this.found().then(({ config }) =>
        unmatchedInConfig({ ...this.#source.opened, config }).filter(({ unknown }) => unknown.length === 0),
      )
      this.#unmatched = { at, patterns }
    }
    return this.#unmatched.patterns
  }

  /** Approves exactly the changes with these `name@digest`, and releases their tools from quarantine. */
  approve(patterns: readonly string[]): Promise<Approval['approved']> {
    return this.#inTurn(async () => {
      const found = await findConfig(this.#source.find)
      const { lockfile, locks, lockPath } = found
      if (!lockfile)
        throw new ToolcribError('config-invalid', `there is no lockfile: ${lockPath} does not exist`)
      const observed = await this.#observe(found)
      const { approved, lockfile: next } = approveChanges(lockfile, observed, changeMatcher(patterns))
      if (approved.length === 0) return []
      await writeLocks(locks, next)
      await this.#reload()
      return approved
    })
  }

  /** Returns what an edit would change in the file. Nothing is written. */
  async draft(edit: ServerEdit): Promise<ConfigDraft> {
    return toDraft(await this.#edited(edit))
  }

  /** Writes and applies an edit, if the file is still as in the draft. */
  write(edit: ServerEdit, digest: string): Promise<ConfigDraft> {
    return this.#inTurn(async () => {
      const file = await this.#edited(edit)
      const draft = toDraft(file)
      if (draft.digest !== digest)
        throw new ToolcribError(
          'config-invalid',
          `${draft.path} has changed meanwhile; look at the change again`,
        )
      await file.save()
      await this.#reload()
      return draft
    })
  }

  /** Ends a server's process and starts it again; `onStopped` is called in between. */
  restart(server: string, onStopped: () => void = () => {}): Promise<void> {
    return this.#inTurn(async () => {
      const found = await findConfig(this.#source.find)
      const { servers } = found.config
      if (!Object.hasOwn(servers, server))
        throw new ToolcribError('config-invalid', `the config has no server "${server}"`)
      const others: Record<string, ServerConfig> = { ...servers }
      delete others[server]
      await this.#source.opened.servers.reload({ servers: others })
      onStopped()
      await this.#source.opened.reload(found)
    })
  }

  async #compare(): Promise<readonly LockChange[] | undefined> {
    await this.#lookAgain()
    const found = await this.found()
    return found.lockfile && compareWithLock(found.lockfile, await this.#observe(found))
  }

  /** Reads the lists again that another process may know better. What running servers answer arrives later, as an event. */
  async #lookAgain(): Promise<void> {
    const at = this.#now()
    const isRecallDue = at - this.#recalledAt >= RECALL_EVERY_MS
    const isAskDue = at - this.#askedAt >= ASK_EVERY_MS
    if (isRecallDue) this.#recalledAt = at
    if (isAskDue) this.#askedAt = at
    const isDue = { cold: isRecallDue, ready: isAskDue, connecting: false, failed: false }
    const { servers } = this.#source.opened
    const due = servers.status().filter(({ state }) => isDue[state])
    await Promise.all(due.map(({ server }) => servers.refresh(server)))
  }

  /** Failures are not cached: the next request tries again. */
  #forget(error: unknown): never {
    this.#compared = undefined
    throw error
  }

  async #edited(edit: ServerEdit): Promise<ServersFile> {
    const { server } = edit
    const path = await this.fileOf(server)
    if (path === undefined)
      throw new ToolcribError('config-invalid', 'there is no config file to write to; create toolcrib.toml')
    const file = await openFile(path)
    const known = file.servers().get(server)
    if (edit.kind === 'add' || edit.kind === 'change') {
      if (known && edit.kind === 'add')
        throw new ToolcribError('config-invalid', `there is a server "${server}"; choose another name`)
      if (edit.kind === 'change' && known?.url === undefined)
        throw new ToolcribError('config-invalid', `${server} has no address; change it in ${path}`)
      const { url = known?.url, headers } = edit
      const all = { ...Object(known?.headers), ...headers }
      file.add([[server, { ...known, url, ...(Object.keys(all).length > 0 ? { headers: all } : {}) }]])
    } else if (edit.kind === 'hint') file.setHint(server, edit.tool, edit.hint)
    else if ('tool' in edit) {
      const key = edit.kind === 'pin' || edit.kind === 'unpin' ? 'pinned' : 'deny'
      const { [key]: before = [] } = (await this.found()).config.servers[server] ?? {}
      const others = before.filter((name) => name !== edit.tool)
      const isAdded = edit.kind === 'pin' || edit.kind === 'hide'
      file.setList(server, key, isAdded ? [...others, edit.tool] : others)
    } else
      for (const each of [server, ...edit.others]) {
        if ((await this.fileOf(each)) !== path)
          throw new ToolcribError(
            'config-invalid',
            `${each} is in another file than ${server}; change it alone`,
          )
        file.setDisabled(each, edit.kind === 'disable')
      }
    return file
  }

  /** Reads the files again, and applies them. */
  async #reload(): Promise<void> {
    this.#found = undefined
    await this.#source.opened.reload(await findConfig(this.#source.find))
    this.#compared = undefined
  }

  #observe({ config, lockfile }: FoundConfig) {
    const { cwd, env } = this.#source.find
    const { servers } = this.#source.opened
    const place = { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) }
    return observeServers({ config, lockfile, servers }, place)
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** Loaded on first use: it includes the formats of all clients, which most gateways never need. */
async function openFile(path: string): Promise<ServersFile> {
  const { ServersFile } = await import('@toolcrib/mcp/clients')
  return ServersFile.open(path)
}

function toDraft({ path, before, text, diff }: ServersFile): ConfigDraft {
  return { path, diff, digest: changeDigestOf(path, before, text) }
}

/** Identifies a change of a file, so that exactly what was shown is written. */
export function changeDigestOf(path: string, before: string | undefined, after: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([path, before, after]))
    .digest('hex')
    .slice(0, 16)
}

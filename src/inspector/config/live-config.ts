import { readFile, rename, writeFile } from 'node:fs/promises'
import { ToolcribError } from 'toolcrib'
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
  writeLocks,
} from 'toolcrib/mcp'
import type { ConfigSource } from '../inspector-options.ts'
import { editServer, type ServerEdit } from './edit-server.ts'

/** A change of a config file, before it is written. */
export interface ConfigDraft {
  readonly file: string
  readonly before: string
  readonly after: string
}

/** The config that the servers run by; changes of it are written and applied one after another. */
export class LiveConfig {
  readonly #source: ConfigSource
  #found: FoundConfig
  #turn: Promise<unknown> = Promise.resolve()

  constructor(source: ConfigSource) {
    this.#source = source
    this.#found = source.opened
  }

  get found(): FoundConfig {
    return this.#found
  }

  /** How the servers differ from what the lockfiles approve; undefined where no lockfile applies. */
  async changes(): Promise<readonly LockChange[] | undefined> {
    const { lockfile } = this.#found
    return lockfile && compareWithLock(lockfile, await this.#observe())
  }

  /** Approves exactly the changes with these `name@digest`, and lets their tools out of quarantine. */
  approve(patterns: readonly string[]): Promise<Approval['approved']> {
    return this.#inTurn(async () => {
      const { lockfile, locks } = this.#found
      if (!lockfile)
        throw new ToolcribError('config-invalid', 'there is no lockfile; write one with "toolcrib lock"')
      const { approved, ...next } = approveChanges(lockfile, await this.#observe(), changeMatcher(patterns))
      if (approved.length === 0) return []
      await writeLocks(locks, next.lockfile)
      await this.#reload()
      return approved
    })
  }

  /** What a change of a server's table would make of its file. Nothing is written. */
  async draft(edit: ServerEdit): Promise<ConfigDraft> {
    const file = this.#fileOf(edit.server)
    const before = await readFile(file, 'utf8')
    return { file, before, after: editServer(before, edit) }
  }

  /** Writes a change if the file is still as the draft showed it, and applies it. */
  write(edit: ServerEdit, shown: string): Promise<ConfigDraft> {
    return this.#inTurn(async () => {
      const draft = await this.draft(edit)
      if (draft.before !== shown)
        throw new ToolcribError(
          'config-invalid',
          `${draft.file} has changed meanwhile; look at the change again`,
        )
      const drafted = `${draft.file}.${process.pid}.tmp`
      await writeFile(drafted, draft.after, { mode: 0o600 })
      await rename(drafted, draft.file)
      await this.#reload()
      return draft
    })
  }

  /** Ends a server's process and starts it again. */
  restart(server: string): Promise<void> {
    return this.#inTurn(async () => {
      const { servers } = this.#found.config
      if (!Object.hasOwn(servers, server))
        throw new ToolcribError('config-invalid', `the config has no server "${server}"`)
      const others: Record<string, ServerConfig> = { ...servers }
      delete others[server]
      await this.#source.opened.servers.reload({ servers: others })
      await this.#source.opened.reload(this.#found)
    })
  }

  /** Reads the files again, and applies what they say now. */
  async #reload(): Promise<void> {
    this.#found = await findConfig(this.#source.find)
    await this.#source.opened.reload(this.#found)
  }

  #observe() {
    const { cwd, env } = this.#source.find
    const { servers } = this.#source.opened
    const place = { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) }
    return observeServers({ config: this.#found.config, servers }, place)
  }

  /** The file that defines a server: the last one that names it. */
  #fileOf(server: string): string {
    const { layers, files } = this.#found.config
    const file = layers?.findLast(({ servers }) => servers.includes(server))?.file ?? files.at(-1)
    if (file?.endsWith('.toml')) return file
    throw new ToolcribError(
      'config-invalid',
      file === undefined
        ? 'there is no config file to write to; create toolcrib.toml'
        : `${file} belongs to other programs too, so it is not changed here; move the server to toolcrib.toml`,
    )
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

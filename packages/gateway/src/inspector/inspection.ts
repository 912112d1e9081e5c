import {
  type CallResult,
  memoryStore,
  type Session,
  type Store,
  type ToolCall,
  type ToolRegistry,
} from '@toolcrib/core'
import type { Config, ConnectedServers, Schedule } from '@toolcrib/mcp'
import type { GatewayApprovals } from '../approvals/approvals.ts'
import type { Auditor } from '../audit/audited-call.ts'
import { CommandLine } from './config/command-line.ts'
import { EditableConfig } from './config/editable-config.ts'
import { inBackground } from './in-background.ts'
import type { ClientConnection, ConnectedClient, InspectorOptions } from './inspector-options.ts'
import { History, MEASURING_SESSION, PAGE_SESSION, storeKey } from './record/history.ts'
import { ServerLog } from './record/server-log.ts'
import type { SignIns } from './sign-ins.ts'
import { ToolBook, type ToolRow } from './tool-book.ts'
import { TurnTokens } from './turn-tokens.ts'

const AT_PAGE = { decided: { decision: 'once', by: 'operator' } } as const

/** What routes read: the registry, its servers, and what was recorded about them. */
export class Inspection {
  readonly registry: ToolRegistry
  readonly servers: ConnectedServers
  readonly book: ToolBook
  readonly turnTokens: TurnTokens
  readonly history: History
  readonly rejections: Rejections
  readonly serverLog: ServerLog
  readonly config: EditableConfig | undefined
  readonly connection: ClientConnection | undefined
  readonly signIns: SignIns | undefined
  readonly now: () => number
  readonly schedule: Schedule
  readonly #closing = new AbortController()
  readonly #gateway: InspectorOptions['gateway']
  #trial: Promise<Session> | undefined
  #trials = 0
  #measuring: Promise<Session> | undefined
  #firstTurn: { readonly rows: readonly ToolRow[]; readonly tokens: Promise<number> } | undefined
  #calls = 0
  #profiles: Config['profiles']

  constructor({
    registry,
    servers,
    store,
    config,
    gateway,
    connect,
    signIns,
    now,
    schedule,
  }: InspectorOptions) {
    this.registry = registry
    this.servers = servers
    this.now = now ?? Date.now
    this.schedule = schedule ?? inBackground
    this.book = new ToolBook(registry)
    this.turnTokens = new TurnTokens(this.book, (fingerprint) => gateway?.toolsListed?.(fingerprint))
    this.history = new History({
      registry,
      store,
      files: config?.opened.config.files,
      schedule: this.schedule,
      tokensPerTool: (profile) => this.book.tokensPerTool(this.#serversOf(profile)),
      clientOf: (session) => ({
        name: this.#connectedNames().get(session),
        profile: this.#connectedProfiles().get(session),
      }),
    })
    const { files } = config?.opened.config ?? {}
    this.rejections = new Rejections(store ?? memoryStore(), storeKey('rejected', files))
    this.serverLog = new ServerLog(registry)
    this.config = config && new EditableConfig(config, this.now)
    this.#profiles = config?.opened.config.profiles
    this.connection = connect
    this.signIns = signIns
    this.#gateway = gateway
  }

  /** Fires when the inspector closes: streams end then. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get approvals(): GatewayApprovals | undefined {
    return this.#gateway?.approvals
  }

  get auditor(): Auditor | undefined {
    return this.#gateway?.auditor
  }

  /** Runs a call of the page in a session, as a person at the page asked for it, and records it. */
  async run(
    session: Session,
    call: ToolCall,
    context: Parameters<Session['execute']>[1] = {},
  ): Promise<CallResult[]> {
    const audited = this.auditor?.open(call, { caller: { who: 'operator', client: 'page' }, asked: AT_PAGE })
    const results = await session.execute([call], { ...context, ...(audited ? { executor: audited } : {}) })
    if (results[0] && context.dryRun !== true) audited?.ended(results[0].result)
    return results
  }

  clients(): readonly ConnectedClient[] {
    return this.#gateway?.clients() ?? []
  }

  /**
   * The command line for a person to run beside this gateway, with the file that defines this server, or else with the
   * last file.
   */
  async commandLine(server?: string): Promise<CommandLine> {
    return new CommandLine(this.connection, await this.config?.fileOf(server))
  }

  /** The client of each session, connected now or earlier. */
  async clientNames(): Promise<ReadonlyMap<string, string>> {
    const { names } = await this.history.activity()
    return new Map([...Object.entries(names), ...this.#connectedNames()])
  }

  /** The profile of each session that has one, of clients connected now or earlier. */
  async profiles(): Promise<ReadonlyMap<string, string>> {
    const { profiles } = await this.history.activity()
    return new Map([...Object.entries(profiles), ...this.#connectedProfiles()])
  }

  /** The session for searches and calls that the user makes on the page. */
  trial(): Promise<Session> {
    this.#trial ??= this.registry.openSession({
      id: `${PAGE_SESSION}${++this.#trials}`,
      mode: 'lazy',
      strategy: 'dispatch',
    })
    return this.#trial
  }

  /** How many tokens of tools a model reads in the first turn of a conversation; counted once per catalogue. */
  async firstTurnTokens(): Promise<number> {
    const rows = await this.book.rows()
    if (this.#firstTurn?.rows !== rows) this.#firstTurn = { rows, tokens: this.#countFirstTurn() }
    const { tokens } = this.#firstTurn
    // The next request tries again.
    tokens.catch(() => {
      if (this.#firstTurn?.tokens === tokens) this.#firstTurn = undefined
    })
    return tokens
  }

  newCallId(): string {
    return `page-${++this.#calls}`
  }

  /** The next trial starts with nothing checked out. */
  resetTrial(): void {
    this.#trial = undefined
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.signIns?.close()
    this.book.close()
    this.config?.close()
    this.serverLog.close()
    await this.history.close()
  }

  /** The tools that a new client sees. */
  async toolsShown(): Promise<readonly object[]> {
    const shown = await this.#gateway?.toolsShown?.(MEASURING_SESSION)
    if (shown) return shown
    const surface = (await this.#measured()).surface()
    await this.turnTokens.note(surface)
    return surface.tools
  }

  /** The servers that a profile shows, as the config was when it was last read; undefined for all. */
  #serversOf(profile: string | undefined): readonly string[] | undefined {
    if (profile === undefined) return undefined
    void this.config?.found().then(({ config: { profiles } }) => {
      this.#profiles = profiles
    })
    return this.#profiles?.[profile]?.servers
  }

  async #countFirstTurn(): Promise<number> {
    return this.book.tokensOf(await this.toolsShown())
  }

  #measured(): Promise<Session> {
    this.#measuring ??= this.registry.openSession({ id: MEASURING_SESSION, strategy: 'dispatch' })
    return this.#measuring
  }

  #connectedNames(): ReadonlyMap<string, string> {
    const names = new Map<string, string>()
    for (const { session, name } of this.clients()) {
      if (name === undefined) continue
      const known = names.get(session)
      names.set(session, known === undefined || known === name ? name : `${known}, ${name}`.slice(0, 200))
    }
    return names
  }

  #connectedProfiles(): ReadonlyMap<string, string> {
    return new Map(
      this.clients().flatMap(({ session, profile }) => (profile ? [[session, profile] as const] : [])),
    )
  }
}

/** More than a person rejects by hand; the oldest are forgotten first. */
const KEPT = 500

/**
 * The changes that a person has looked at and refused, as `name@digest`. They stay in quarantine either way: rejecting
 * only says that nobody needs to decide again. A definition that changes again has another digest, and waits again.
 */
class Rejections {
  readonly #store: Store
  readonly #key: string

  constructor(store: Store, key: string) {
    this.#store = store
    this.#key = key
  }

  /** None if the store cannot be read: asking twice is better than hiding a change. */
  async all(): Promise<ReadonlySet<string>> {
    return new Set(await this.#store.get(this.#key).then(namesIn, () => []))
  }

  async add(patterns: readonly string[]): Promise<void> {
    await this.#change((known) => [...known, ...patterns])
  }

  async remove(patterns: readonly string[]): Promise<void> {
    await this.#change((known) => known.filter((pattern) => !patterns.includes(pattern)))
  }

  async #change(change: (known: readonly string[]) => readonly string[]): Promise<void> {
    await this.#store.update(this.#key, (stored) => [...new Set(change(namesIn(stored)))].slice(-KEPT))
  }
}

function namesIn(stored: unknown): readonly string[] {
  return Array.isArray(stored) ? stored.filter((each) => typeof each === 'string') : []
}

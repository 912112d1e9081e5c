import type { Spill } from './call/spill.ts'
import { ToolcribError } from './errors.ts'
import { SearchLimit } from './meta-tools/search-limit.ts'
import type { SearchPowers } from './meta-tools/search-powers.ts'
import { promptNote, sessionMetaTools } from './meta-tools/session-meta-tools.ts'
import { Entry } from './registry/entry.ts'
import type { CompiledPolicy } from './registry/policy.ts'
import type { ServerDirectory, ServerStatus } from './registry/server-directory.ts'
import type { View } from './registry/viewer.ts'
import type { SharedView } from './registry/viewers.ts'
import type { SessionOptions } from './registry-options.ts'
import type { Activation } from './session/activations.ts'
import { describeDeferred } from './session/describe-deferred.ts'
import { Session } from './session/session.ts'
import type { MetaTools, SessionHost } from './session/session-host.ts'
import type { SessionSettings } from './session/settings.ts'
import { readState, type SessionState, type SessionStore } from './session/state.ts'
import type { Strategy } from './session/surface.ts'
import { estimateTokens } from './tokens.ts'
import { type Tool, UNTRUSTED_NOTE } from './tool.ts'

/** What opening a session takes from the registry. */
export interface OpenerPorts extends Omit<SessionHost, 'fork'> {
  viewOf(settings: SessionSettings): SharedView
  /** Names close to one that is not there, among those a view permits. */
  suggest(name: string, view: View): readonly string[]
  servers(): ServerDirectory | undefined
  waitForServers(isWanted: (server: string) => boolean): Promise<readonly ServerStatus[]>
  readonly spill: Spill | undefined
  readonly now: () => number
  /** Names a session that was opened without an id. */
  readonly newId: () => string
  /** What one answer of a search tool may take. */
  readonly answerTokens: number
  /** What the list of names behind the search may take. */
  readonly noteTokens: number
}

/** Opens sessions, anew, from saved state or as children of others, and gives each its meta-tools. */
export class SessionOpener {
  readonly #ports: OpenerPorts
  readonly #notes = new WeakMap<View, string>()
  #forks = 0

  constructor(ports: OpenerPorts) {
    this.#ports = ports
  }

  async open({ id, state, store }: SessionOptions, settings: SessionSettings): Promise<Session> {
    if (store && id === undefined && state === undefined) {
      throw new ToolcribError('config-invalid', 'a session with a store needs an id, to be found by later')
    }
    const saved = state !== undefined ? readState(state) : await load(store, id)
    const session = this.#create({
      id: id ?? saved?.id ?? this.#ports.newId(),
      settings: { ...settings, allowlists: saved?.allowlists ?? [] },
      saved: saved?.activations ?? [],
      store,
    })
    // Definitions that changed since it was saved are told now, not with the first surface.
    if (saved) session.view()
    return session
  }

  #fork: SessionHost['fork'] = (parent, settings, inherited) => {
    const view = this.#ports.viewOf(settings).viewer.current()
    // What the child may not use must not take a place under its cap.
    const saved = inherited.filter(({ name }) => {
      const entry = view.snapshot.get(name)
      return entry === undefined || view.denial(entry) === undefined
    })
    return this.#create({ id: `${parent.id}/${++this.#forks}`, settings, saved, parentId: parent.id })
  }

  #create({ id, settings, saved, store, parentId }: Opening): Session {
    this.#ports.emit({
      type: 'session-opened',
      sessionId: id,
      restored: saved.length,
      ...(parentId === undefined ? {} : { parentId }),
    })
    const { viewer, policy } = this.#ports.viewOf(settings)
    const limit = new SearchLimit(settings.searchesPerMinute, this.#ports.now)
    // Decided once: a meta-tool that turns up later would disturb the prompt cache of a running conversation.
    const servers = viewer.current().deferred.size === 0 ? this.#ports.servers() : undefined
    const host = { ...this.#ports, fork: this.#fork }
    return new Session(host, {
      id,
      settings,
      policy,
      viewer,
      saved,
      store,
      metaTools: (session, view, strategy) =>
        this.#metaTools({ session, view, strategy, policy, limit, servers }),
    })
  }

  #metaTools({ session, view, strategy, policy, limit, servers }: MetaToolParts): MetaTools {
    const { settings } = session
    const behind = this.#describe(view)
    const tools = sessionMetaTools({
      ...settings,
      powers: this.#powers(session),
      sessionId: session.id,
      isDispatch: strategy === 'dispatch',
      policy,
      behind,
      maxAnswerTokens: this.#ports.answerTokens,
      spill: this.#ports.spill,
      servers,
      limit: (tool) => limit.wrap(tool),
    })
    return {
      shown: tools.map(metaToolEntry),
      promptNote: promptNote({ ...settings, behind, isDispatch: strategy === 'dispatch' }),
    }
  }

  #powers(session: Session): SearchPowers {
    return {
      search: (query, options) => session.search(query, options),
      activate: (names) => session.activate(names),
      describe: (name) => session.describe(name),
      isActive: (name) => session.isActive(name),
      suggest: (name) => this.#ports.suggest(name, session.view()),
      servers: () => serverNames(session.view()),
      deferrableCount: () => session.view().deferred.size,
      takeEvictions: () => session.takeEvictions(),
      waitForServers: () => this.#ports.waitForServers((server) => session.permitsServer(server)),
    }
  }

  /** Sessions that see the catalogue alike share one description of it. */
  #describe(view: View): string {
    const note = this.#notes.get(view) ?? describeBehind(view, this.#ports.noteTokens)
    this.#notes.set(view, note)
    return note
  }
}

interface Opening {
  readonly id: string
  readonly settings: SessionSettings
  readonly saved: readonly Activation[]
  readonly store?: SessionStore | undefined
  readonly parentId?: string
}

interface MetaToolParts {
  readonly session: Session
  readonly view: View
  readonly strategy: Strategy
  readonly policy: CompiledPolicy
  readonly limit: SearchLimit
  readonly servers: ServerDirectory | undefined
}

/** What lies behind the search, and how far to believe it; '' when nothing is deferred. */
function describeBehind({ deferred, untrustedServers }: View, maxTokens: number): string {
  if (deferred.size === 0 || untrustedServers.length === 0)
    return describeDeferred(deferred.values(), maxTokens)
  const listed = describeDeferred(deferred.values(), maxTokens - estimateTokens(UNTRUSTED_NOTE))
  return `${listed}\n${UNTRUSTED_NOTE}`
}

/** A meta-tool as an entry: always shown, and never trimmed. */
export function metaToolEntry(tool: Tool): Entry {
  const { name } = tool
  const source = { kind: 'builtin' } as const
  return new Entry(tool, { name, ownName: name, source, deferral: 'pinned', trust: 0, isSelfLimiting: true })
}

function serverNames(view: View): readonly string[] {
  const servers = new Set<string>()
  for (const { source } of [...view.shown, ...view.deferred.values()]) {
    if (source.kind === 'mcp') servers.add(source.server)
  }
  return [...servers].sort()
}

async function load(
  store: SessionStore | undefined,
  id: string | undefined,
): Promise<SessionState | undefined> {
  if (!store || id === undefined) return undefined
  let saved: unknown
  try {
    saved = await store.load(id)
  } catch (cause) {
    throw new ToolcribError('store-unavailable', `the session "${id}" could not be loaded`, { cause })
  }
  return saved === undefined ? undefined : readState(saved)
}

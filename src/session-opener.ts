import type { Spill } from './call/spill.ts'
import { ToolcribError } from './errors.ts'
import type { Emit } from './events.ts'
import { SearchLimit } from './meta-tools/search-limit.ts'
import type { SearchPowers } from './meta-tools/search-powers.ts'
import { promptNote, sessionMetaTools } from './meta-tools/session-meta-tools.ts'
import { Entry } from './registry/entry.ts'
import { type CompiledPolicy, compilePolicy } from './registry/policy.ts'
import type { ServerDirectory } from './registry/server-directory.ts'
import type { View, Viewer } from './registry/viewer.ts'
import type { SessionOptions } from './registry-options.ts'
import { describeDeferred } from './session/describe-deferred.ts'
import { Session, type SessionParts } from './session/session.ts'
import type { MetaTools, SessionHost } from './session/session-host.ts'
import type { SessionSettings } from './session/settings.ts'
import { readState, type SessionStore } from './session/state.ts'
import type { Strategy } from './session/surface.ts'

/** What opening a session takes from the registry. */
export interface OpenerPorts extends Omit<SessionHost, 'fork'> {
  viewerOf(settings: SessionSettings, policy: CompiledPolicy, emit: Emit): Viewer
  /** Names close to one that is not there, among those a view permits. */
  suggest(name: string, view: View): readonly string[]
  servers(): ServerDirectory | undefined
  readonly spill: Spill | undefined
  readonly now: () => number
  /** What one answer of a search tool may take. */
  readonly answerTokens: number
  /** What the list of names behind the search may take. */
  readonly noteTokens: number
}

/** Opens sessions, anew, from saved state or as children of others, and gives each its meta-tools. */
export class SessionOpener {
  readonly #ports: OpenerPorts
  #opened = 0

  constructor(ports: OpenerPorts) {
    this.#ports = ports
  }

  async open({ id, state, store }: SessionOptions, settings: SessionSettings): Promise<Session> {
    if (store && id === undefined && state === undefined) {
      throw new ToolcribError('config-invalid', 'a session with a store needs an id, to be found by later')
    }
    const saved = state !== undefined ? readState(state) : await load(store, id)
    const session = this.#create(id ?? saved?.id ?? this.#nextId(), settings, saved?.activations ?? [], store)
    this.#ports.emit({
      type: 'session-opened',
      sessionId: session.id,
      restored: saved?.activations.length ?? 0,
    })
    return session
  }

  #fork: SessionHost['fork'] = (parent, settings, inherited) => {
    const policy = compilePolicy(gatesOf(settings))
    const view = this.#ports.viewerOf(settings, policy, this.#ports.emit).current()
    // What the child may not use must not take a place under its cap.
    const own = inherited.filter(({ name }) => {
      const entry = view.snapshot.get(name)
      return entry === undefined || view.denial(entry) === undefined
    })
    const child = this.#create(`${parent.id}/${++this.#opened}`, settings, own, undefined)
    this.#ports.emit({
      type: 'session-opened',
      sessionId: child.id,
      parentId: parent.id,
      restored: own.length,
    })
    return child
  }

  #create(
    id: string,
    settings: SessionSettings,
    saved: SessionParts['saved'],
    store: SessionStore | undefined,
  ): Session {
    const policy = compilePolicy(gatesOf(settings))
    const limit = new SearchLimit(settings.searchesPerMinute, this.#ports.now)
    const viewer = this.#ports.viewerOf(settings, policy, (event) =>
      this.#ports.emit({ ...event, sessionId: id }),
    )
    return new Session(
      { ...this.#ports, fork: this.#fork },
      {
        id,
        settings,
        policy,
        viewer,
        saved,
        store,
        metaTools: (session, view, strategy) =>
          this.#metaTools({ session, view, strategy, settings, policy, limit }),
      },
    )
  }

  #metaTools({ session, view, strategy, settings, policy, limit }: MetaToolParts): MetaTools {
    const { spill, noteTokens, answerTokens } = this.#ports
    const behind = describeDeferred(view.deferred.values(), noteTokens)
    const tools = sessionMetaTools({
      ...settings,
      powers: this.#powers(session),
      sessionId: session.id,
      strategy,
      policy,
      behind,
      maxAnswerTokens: answerTokens,
      spill,
      servers: this.#ports.servers(),
      limit: (tool) => limit.wrap(tool),
    })
    return {
      shown: tools.map(
        (tool) =>
          new Entry(tool, {
            name: tool.name,
            ownName: tool.name,
            source: { kind: 'builtin' },
            deferral: 'pinned',
            trust: 0,
          }),
      ),
      promptNote: promptNote({ behind, strategy, searchTool: settings.searchTool }),
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
    }
  }

  #nextId(): string {
    return `session-${++this.#opened}`
  }
}

interface MetaToolParts {
  readonly session: Session
  readonly view: View
  readonly strategy: Strategy
  readonly settings: SessionSettings
  readonly policy: CompiledPolicy
  readonly limit: SearchLimit
}

function gatesOf(settings: SessionSettings) {
  return { ...settings.policy, allowlists: settings.allowlists }
}

function serverNames(view: View): readonly string[] {
  const servers = new Set<string>()
  for (const { source } of [...view.shown, ...view.deferred.values()])
    if (source.kind === 'mcp') servers.add(source.server)
  return [...servers].sort()
}

async function load(store: SessionStore | undefined, id: string | undefined) {
  if (!store || id === undefined) return undefined
  let saved: unknown
  try {
    saved = await store.load(id)
  } catch (cause) {
    throw new ToolcribError('store-unavailable', `the session "${id}" could not be loaded`, { cause })
  }
  return saved === undefined ? undefined : readState(saved)
}

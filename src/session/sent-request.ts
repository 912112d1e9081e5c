import type { Spill } from '../call/spill.ts'
import { ToolcribError } from '../errors.ts'
import { hashText, isRecord } from '../json.ts'
import type { ToolDefinition } from '../tool.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import type { Surface } from './surface.ts'

/** What all requests of a conversation begin with, and what came since, as plain JSON. */
export interface SentRequest {
  /** Identifies the settings it was made with: with other ones, the session makes a new first request. */
  readonly settings: string
  readonly surface: Surface
  /** What lies behind the search, as its description lists it. */
  readonly behind: string
  /** The paragraph for the system prompt. */
  readonly promptNote: string
  readonly lateTools: readonly ToolDefinition[]
  /** The servers that the model knows of. */
  readonly servers: readonly string[]
  /** Whether the model was warned about servers without `trust`. */
  readonly isWarned: boolean
}

/** Identifies the settings that decide which tools a request may show: a session restored with others begins again. */
export function settingsId(
  dialect: SessionDialect,
  { strategy, searchTool, searchStyle, policy, allowlists, mode, defer, pinned }: SessionSettings,
  { spill }: { readonly spill: Spill | undefined },
): string {
  const provider = [dialect.name, dialect.strategy, dialect.dispatchesLateTools === true]
  const division = [mode, defer, [...new Set(pinned)].sort()]
  const metaTools = [strategy, searchTool, searchStyle, spill !== undefined]
  return hashText(JSON.stringify([provider, division, metaTools, policy, allowlists]))
}

/** Identifies the bytes that all requests of a conversation begin with. */
export function idOfSent({ settings, surface, behind, promptNote }: Omit<SentRequest, 'lateTools'>): string {
  return hashText(JSON.stringify([settings, surface.fingerprint, behind, promptNote]))
}

/** Applies the difference between two states of a first request to a third, to merge concurrent changes of replicas. */
export function mergeSent(
  stored: SentRequest,
  { from, to }: { readonly from: SentRequest | undefined; readonly to: SentRequest },
): SentRequest {
  return {
    ...stored,
    lateTools: mergeLists(stored.lateTools, from?.lateTools ?? [], to.lateTools, ({ name }) => name),
    servers: mergeLists(stored.servers, from?.servers ?? [], to.servers, (server) => server),
    isWarned: stored.isWarned || to.isWarned,
  }
}

function mergeLists<Item>(
  stored: readonly Item[],
  from: readonly Item[],
  to: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  const keys = (items: readonly Item[]) => new Set(items.map(keyOf))
  const [inStored, before, after] = [keys(stored), keys(from), keys(to)]
  const kept = stored.filter((item) => !before.has(keyOf(item)) || after.has(keyOf(item)))
  return [...kept, ...to.filter((item) => !inStored.has(keyOf(item)) && !before.has(keyOf(item)))]
}

/** Narrows saved JSON. Throws `config-invalid` for what cannot be used. */
export function readSent(saved: unknown): SentRequest {
  if (!isRecord(saved) || !isSentSurface(saved.surface)) throw damaged()
  const { settings, surface, behind, promptNote, lateTools, servers, isWarned } = saved
  const areTexts = [settings, behind, promptNote].every((text) => typeof text === 'string')
  if (!areTexts || !isTextList(servers) || !areDefinitions(lateTools) || typeof isWarned !== 'boolean')
    throw damaged()
  const texts = { settings: String(settings), behind: String(behind), promptNote: String(promptNote) }
  return { ...texts, surface: Object.freeze({ ...surface }), lateTools, servers, isWarned }
}

function isSentSurface(value: unknown): value is Surface {
  if (!isRecord(value)) return false
  const { tools, deferredTools = [], untrustedServers = [], strategy, fingerprint, deferredCount } = value
  return (
    areDefinitions(tools) &&
    areDefinitions(deferredTools) &&
    isTextList(untrustedServers) &&
    (strategy === 'native' || strategy === 'dispatch') &&
    typeof fingerprint === 'string' &&
    Number.isSafeInteger(deferredCount)
  )
}

function areDefinitions(value: unknown): value is ToolDefinition[] {
  return (
    Array.isArray(value) &&
    value.every(
      (definition) =>
        isRecord(definition) &&
        typeof definition.name === 'string' &&
        typeof definition.description === 'string' &&
        (isRecord(definition.parameters) || typeof definition.parameters === 'boolean'),
    )
  )
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function damaged(): ToolcribError {
  return new ToolcribError(
    'config-invalid',
    'the saved first request of this session is damaged; the session makes a new one',
  )
}

import { randomBytes } from 'node:crypto'
import type { StartFailure } from '../cache/start-failures.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ItemKind, ServerItem } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import {
  definitionOf,
  hashDefinition,
  isTooDeep,
  type LockedDefinition,
  sha256,
  summaryOf,
} from './definition.ts'
import { itemsByKey, type LockedItems, lockedItems } from './locked-item.ts'
import { commandOf, type ServerCommand, saltedDigest } from './server-command.ts'

/** A tool as it was approved. */
export interface LockedTool {
  readonly hash: string
  /** One line about it for reviewers; it must match the definition too. */
  readonly summary: string
  /** undefined when the file of definitions beside the lockfile lacks it: the hash still approves. */
  readonly definition?: LockedDefinition | undefined
}

/** A tool as its server lists it now. */
export interface ListedTool extends LockedTool {
  readonly definition: LockedDefinition
  /** The hash that lockfiles before version 4 have of a tool with a user interface. */
  readonly hashWithoutUi?: string
}

/** A server as it was approved: its command, its tools by the server's own names, and what else it offers. */
export interface LockedServer {
  readonly hash: string
  /** The salt of the digests in its command; random, and present only with digests. */
  readonly salt?: string
  readonly command: ServerCommand
  /** The package or image that ran when it was approved, such as `some-server@1.4.2`; absent if unknown. */
  readonly runs?: string
  /** Random; new whenever a changed program was approved. Paths of programs differ from one machine to another. */
  readonly approval?: string
  readonly tools: ReadonlyMap<string, LockedTool>
  /** Instructions, prompts, resources and templates. Absent if it was approved before these were covered. */
  readonly items?: LockedItems
}

/** The approved servers, by name. Anything else is not approved. */
export interface Lockfile {
  readonly servers: ReadonlyMap<string, LockedServer>
  /** Servers that are not checked: those of a config file without a lockfile. */
  readonly exempt?: ReadonlySet<string>
  /** Servers whose required lockfile is missing, with its path: none of them may start. */
  readonly missing?: ReadonlyMap<string, string>
  /** Servers that would run another program on this machine than when they were approved: none of them may start. */
  readonly moved?: ReadonlyMap<string, ProgramChange>
}

/** The real path of the program that a server's command ran when it was approved, and of the one it would run now. */
export interface ProgramChange {
  readonly before: string
  readonly after: string
}

/** A server's current config, tools, and what else it offers. */
export interface ObservedServer {
  readonly config: ServerConfig
  /** undefined when unknown, because the server could not or must not be asked. */
  readonly tools?: readonly ServerTool[] | undefined
  /** Its instructions, prompts, resources and templates; what is unknown is missing. */
  readonly items?: ReadonlyMap<ItemKind, readonly ServerItem[]> | undefined
  /** The package or image that it runs, as `whatRuns()` returned it; undefined if unknown. */
  readonly runs?: string | undefined
  /** Set when it runs another program on this machine than when it was approved. */
  readonly program?: ProgramChange | undefined
  /** Why it was not started: an earlier process recently failed to start it. */
  readonly failure?: StartFailure | undefined
}

/**
 * Approves servers as they are now. Servers whose tools are unknown are left out. Prompts or resources that could not
 * be listed are not approved. With the lockfile `before`, unchanged entries are written identically.
 */
export function lockServers(observed: ReadonlyMap<string, ObservedServer>, before?: Lockfile): Lockfile {
  const servers = new Map<string, LockedServer>()
  for (const [name, now] of observed) {
    if (!now.tools) continue
    const earlier = before?.servers.get(name)
    const items = now.items ? lockItems(now.items, earlier?.items) : earlier?.items
    const parts = { tools: toolsByName(now.tools), ...(items ? { items } : {}) }
    servers.set(name, lockServer(now, parts, earlier))
  }
  return { servers }
}

function lockItems(
  now: ReadonlyMap<ItemKind, readonly ServerItem[]>,
  before: LockedItems | undefined,
): LockedItems {
  return lockedItems((kind) => {
    const items = now.get(kind)
    return items ? itemsByKey(items) : (before?.[kind] ?? new Map())
  })
}

/** Approves one server with these parts, reusing the salt of its previous approval, if any. */
export function lockServer(
  { config, runs, program }: Pick<ObservedServer, 'config' | 'runs' | 'program'>,
  parts: Pick<LockedServer, 'tools' | 'items'>,
  before: LockedServer | undefined,
): LockedServer {
  const salt = before?.salt ?? randomBytes(16).toString('hex')
  const digest = saltedDigest(salt)
  let hasDigests = false
  const command = commandOf(config, (value) => {
    hasDigests = true
    return digest(value)
  })
  const approval = program ? randomBytes(8).toString('hex') : before?.approval
  return {
    hash: sha256(command),
    ...(hasDigests ? { salt } : {}),
    command,
    ...(runs === undefined ? {} : { runs }),
    ...(approval === undefined ? {} : { approval }),
    ...parts,
  }
}

/**
 * The definitions of a list by name. The first of duplicates counts, since only that one is registered. A tool whose
 * definition is too deep to hash is left out.
 */
export function toolsByName(tools: readonly ServerTool[]): Map<string, ListedTool> {
  const byName = new Map<string, ListedTool>()
  for (const tool of tools) {
    const listed = byName.has(tool.name) ? undefined : listedTool(tool)
    if (listed !== undefined) byName.set(tool.name, listed)
  }
  return byName
}

/** The definition of a listed tool with its hash, which takes long and is made once; undefined if it is too deep. */
export function listedTool(tool: ServerTool): ListedTool | undefined {
  if (!known.has(tool)) known.set(tool, isTooDeep(tool) ? undefined : lockTool(tool.name, tool))
  return known.get(tool)
}

const known = new WeakMap<ServerTool, ListedTool | undefined>()

/** A definition with its hash and summary. */
export function lockTool(name: string, tool: LockedDefinition): ListedTool {
  const definition = definitionOf(tool)
  const { _meta, ...withoutUi } = definition
  return {
    hash: sha256({ name, ...definition }),
    summary: summaryOf(definition),
    definition,
    ...(_meta === undefined ? {} : { hashWithoutUi: hashDefinition(name, withoutUi) }),
  }
}

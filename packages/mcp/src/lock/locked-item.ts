import { clipText, isRecord } from '@toolcrib/core/internal'
import { ITEM_KINDS, type ItemKind, type ServerItem } from '../listed/server-item.ts'
import { isTooDeep, MAX_SUMMARY, sha256, uiMeta } from './definition.ts'

/** A prompt, resource or template as it was approved, or a server's instructions. */
export interface LockedItem {
  readonly hash: string
  /** One line about it for reviewers; it must match the definition too. */
  readonly summary: string
  /** undefined when the file of definitions beside the lockfile lacks it: the hash still approves. */
  readonly definition?: ItemDefinition | undefined
}

/** The part of an item that its approval covers. */
export type ItemDefinition = Readonly<Record<string, unknown>>

/** An item as its server lists it now. */
export interface ListedItem extends LockedItem {
  readonly definition: ItemDefinition
}

/** Everything besides tools that is approved of a server, by its name or URI. */
export type LockedItems = Readonly<Record<ItemKind, ReadonlyMap<string, LockedItem>>>

/** What a change of an item is called. */
export const ITEM_WORDS = {
  instructions: 'instructions',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
} as const satisfies Readonly<Record<ItemKind, string>>

const OF_RESOURCE = ['name', 'title', 'description', 'mimeType', 'annotations']
const FIELDS: Readonly<Record<ItemKind, readonly string[]>> = {
  instructions: ['text'],
  prompts: ['title', 'description', 'arguments'],
  resources: OF_RESOURCE,
  resourceTemplates: OF_RESOURCE,
}

/** A map for each kind of item. */
export function lockedItems<Value>(
  itemsOf: (kind: ItemKind) => ReadonlyMap<string, Value>,
): Readonly<Record<ItemKind, ReadonlyMap<string, Value>>> {
  return Object.fromEntries(ITEM_KINDS.map((kind) => [kind, itemsOf(kind)])) as Record<
    ItemKind,
    ReadonlyMap<string, Value>
  >
}

/** Approvals that cover everything, and approve nothing. */
export const NO_ITEMS: LockedItems = lockedItems(() => new Map())

/** How an item is named in `toolcrib approve`: `weather:prompt:plan`, `weather:instructions`. */
export function itemName(server: string, kind: ItemKind, key: string): string {
  const word = ITEM_WORDS[kind]
  return kind === 'instructions' ? `${server}:${word}` : `${server}:${word}:${key}`
}

/** The items of a list that need an approval, by name or URI. An item that is too deep to hash is left out. */
export function itemsByKey(items: readonly ServerItem[]): Map<string, ListedItem> {
  const needed = items.filter((item) => needsApproval(item) && !isTooDeep(item.listed))
  return new Map(needed.map(({ kind, key, listed }) => [key, lockItem(kind, key, listed)]))
}

/**
 * False for a resource that says nothing besides its address, such as a file under its own name: servers list whole
 * folders, which change all the time, and an address is data.
 */
export function needsApproval({ kind, key, listed }: ServerItem): boolean {
  if (kind !== 'resources' || /^ui:/i.test(key)) return true
  const { name, title, description, mimeType, annotations, _meta } = listed
  if ([title, description].some(isSaid) || uiMeta(_meta) !== undefined) return true
  const isOfAddress = !isSaid(name) || (typeof name === 'string' && decoded(key).includes(name))
  const isType = !isSaid(mimeType) || (typeof mimeType === 'string' && MIME_TYPE.test(mimeType))
  return !isOfAddress || !isType || !isPlainAnnotation(annotations)
}

function isSaid(text: unknown): boolean {
  return text !== undefined && text !== null && text !== ''
}

const MIME_TYPE = /^[\w.+-]{1,80}\/[\w.+-]{1,80}(?:; ?[\w-]{1,20}=[\w.-]{1,40})?$/

/** Whether annotations have only fields of the protocol, which are no text. */
function isPlainAnnotation(annotations: unknown): boolean {
  if (!isSaid(annotations)) return true
  if (!isRecord(annotations)) return false
  const { audience = [], priority = 0, lastModified, ...others } = annotations
  const isAudience =
    Array.isArray(audience) && audience.every((role) => role === 'user' || role === 'assistant')
  return isAudience && typeof priority === 'number' && Object.keys(others).length === 0
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}

/** A definition with its hash and summary. Takes what a server lists, or an approved definition. */
export function lockItem(kind: ItemKind, key: string, listed: ItemDefinition): ListedItem {
  const definition = definitionOf(kind, listed)
  return { hash: sha256({ kind, key, ...definition }), summary: summaryOf(definition), definition }
}

function definitionOf(kind: ItemKind, listed: ItemDefinition): ItemDefinition {
  const { annotations } = listed
  const covered: ItemDefinition = {
    ...listed,
    annotations: isRecord(annotations) ? withoutTime(annotations) : annotations,
    _meta: uiMeta(listed._meta),
  }
  const present = [...FIELDS[kind], '_meta'].filter((field) => covered[field] !== undefined)
  return Object.fromEntries(present.map((field) => [field, covered[field]]))
}

/** When a resource last changed is about its content. */
function withoutTime({ lastModified: _, ...annotations }: Record<string, unknown>): Record<string, unknown> {
  return annotations
}

function summaryOf({ text, name, title, description, arguments: parameters }: ItemDefinition): string {
  const names = (Array.isArray(parameters) ? parameters.filter(isRecord) : []).map(
    ({ name, required }) => `${String(name)}${required === true ? '' : '?'}`,
  )
  const words = [
    ...(Array.isArray(parameters) ? [`(${names.join(', ')})`] : []),
    text ?? (description || title || name || ''),
  ]
  return clipText(words.join(' ').replace(/\s+/gu, ' ').trim(), MAX_SUMMARY)
}

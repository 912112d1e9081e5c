import { isRecord, withoutHidden } from '@toolcrib/core/internal'

/** What servers list besides tools. */
export type ListKind = 'prompts' | 'resources' | 'resourceTemplates'

/** What servers offer besides tools. */
export type ItemKind = 'instructions' | ListKind

/** One prompt, resource or template of a server, or its instructions. */
export interface ServerItem {
  readonly kind: ItemKind
  /** Its name, URI or URI template; `text` for instructions. */
  readonly key: string
  /** As the server sent it; for instructions, `{ text }`. */
  readonly listed: Readonly<Record<string, unknown>>
}

export const LIST_KINDS: readonly ListKind[] = ['prompts', 'resources', 'resourceTemplates']
export const ITEM_KINDS: readonly ItemKind[] = ['instructions', ...LIST_KINDS]

/** How the items of each kind are listed: with which request, of which capability, and which field identifies one. */
export const ITEM_LISTS = {
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name' },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', key: 'uriTemplate' },
} as const

/** A server's instructions as a list of at most one item. */
export function instructionItems(text: string | undefined): ServerItem[] {
  return text ? [{ kind: 'instructions', key: 'text', listed: { text } }] : []
}

const MAX_PAGES = 100
const MAX_ITEMS = 10_000

/** What a server lists; items that cannot be used are left out. */
export interface ReadItems {
  readonly items: readonly ServerItem[]
  /** What is wrong with the list. */
  readonly warnings: readonly string[]
  /** Why it ends early. */
  readonly failure?: unknown
}

/**
 * Reads a list page by page, up to 10,000 items. Of items with the same name or URI only the first is used, so that
 * every reader sees the same one. Names and URIs with hidden characters are left out: without these they would be
 * different ones. Never rejects: after a failure, it has the pages before it.
 */
export async function listItems(
  kind: ListKind,
  requestPage: (cursor: string | undefined) => Promise<unknown>,
): Promise<ReadItems> {
  const { key } = ITEM_LISTS[kind]
  const byKey = new Map<string, ServerItem>()
  const dropped = { repeated: new Set<string>(), hidden: new Set<string>() }
  const warnings = () => [
    ...described(kind, dropped.repeated, 'more than once; only the first is used'),
    ...described(kind, dropped.hidden, 'with hidden characters in the name; it is left out'),
  ]
  let cursor: string | undefined
  try {
    for (let pages = 0; pages < MAX_PAGES && byKey.size < MAX_ITEMS; pages++) {
      const page = await requestPage(cursor)
      const listed = isRecord(page) && Array.isArray(page[kind]) ? page[kind].filter(isRecord) : []
      for (const item of listed) {
        const own = item[key]
        if (typeof own !== 'string') continue
        if (withoutHidden(own) !== own) dropped.hidden.add(withoutHidden(own))
        else if (byKey.has(own)) dropped.repeated.add(own)
        else byKey.set(own, { kind, key: own, listed: item })
      }
      const next = isRecord(page) ? page.nextCursor : undefined
      if (typeof next !== 'string' || next === '' || next === cursor) break
      cursor = next
    }
  } catch (failure) {
    return { items: [...byKey.values()], warnings: warnings(), failure }
  }
  return { items: [...byKey.values()], warnings: warnings() }
}

const MAX_SHOWN_NAME = 200

function described(kind: ListKind, names: ReadonlySet<string>, how: string): string[] {
  const [first] = names
  if (first === undefined) return []
  const others = names.size > 1 ? ` and ${names.size - 1} more` : ''
  return [`its ${kind} list "${first.slice(0, MAX_SHOWN_NAME)}"${others} ${how}`]
}

/** Whether a URI can match a template: it begins and ends with the template's literal parts. */
export function fitsTemplate(uri: string, template: string): boolean {
  const start = template.split('{', 1)[0] ?? ''
  const end = template.includes('}') ? template.slice(template.lastIndexOf('}') + 1) : ''
  return uri.startsWith(start) && uri.endsWith(end) && uri.length >= start.length + end.length
}

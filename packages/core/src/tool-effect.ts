import type { Listing } from './tool.ts'

/** What a tool does to the world, or what a request asks for. */
export type Effect = 'reads' | 'writes' | 'destroys'

/** What a tool does, by the verbs of its name, its annotations and the first word of its description. */
export function effectOf({
  ownName,
  annotations = {},
  description,
}: Pick<Listing, 'ownName' | 'annotations' | 'description'>): Effect | undefined {
  const named = effectOfName(ownName)
  if (annotations.destructiveHint === true) return 'destroys'
  // A name that changes or deletes says more than a server's claim that it does not.
  if (named !== undefined && named !== 'reads') return named
  if (annotations.readOnlyHint !== undefined) return annotations.readOnlyHint ? 'reads' : 'writes'
  return named ?? effectOfVerb(/^\s*([a-z]+)/i.exec(description)?.[1]?.toLowerCase() ?? '')
}

/** The first verb decides, unless it may as well be a thing and there is another that may not. */
function effectOfName(name: string): Effect | undefined {
  const verbs = name
    .replace(/(\p{Ll}|\d)(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => EFFECTS.has(word))
  const [first = ''] = verbs
  const sure = ALSO_THINGS.has(first) ? verbs.filter((word) => !ALSO_THINGS.has(word)) : [first]
  return strongest((sure.length > 0 ? sure : [first]).flatMap((word) => EFFECTS.get(word) ?? []))
}

/** "Lists", "Fetches". */
function effectOfVerb(verb: string): Effect | undefined {
  const form = [verb, verb.replace(/s$/, ''), verb.replace(/es$/, '')].find((one) => EFFECTS.has(one))
  return form === undefined || ALSO_THINGS.has(form) ? undefined : EFFECTS.get(form)
}

export function strongest(effects: readonly Effect[]): Effect | undefined {
  return (['destroys', 'writes', 'reads'] as const).find((effect) => effects.includes(effect))
}

/** Verbs that names and descriptions also use for things, or for something else. */
export const ALSO_THINGS: ReadonlySet<string> = new Set(
  `list search view check query count report look watch scan print preview review monitor display book store order post
  share comment run call set open close enable start stop test play save change register reset pay cancel move copy
  trigger reply label press type click`.split(/\s+/),
)

export const EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ...of(
    'reads',
    `get list read find search show describe fetch view lookup look query retrieve check count inspect display browse
    see monitor analyze analyse explain summarize summarise compare watch locate scan print detect identify preview`,
  ),
  ...of(
    'writes',
    `create add update set edit write send post put insert upload publish run execute call start stop restart deploy
    apply assign modify change rename move copy merge push commit submit schedule book buy pay order transfer invite
    enable disable activate approve reject close open reopen lock unlock upsert patch import sync install configure
    register subscribe unsubscribe share reply comment archive restore rotate trigger cancel generate make save store
    attach click type press fill grant build launch fork replace append reset migrate`,
  ),
  ...of(
    'destroys',
    `delete remove drop destroy purge erase truncate wipe clear revoke terminate kill uninstall unpublish prune flush
    empty discard deregister detach`,
  ),
])

function of(effect: Effect, verbs: string): readonly (readonly [string, Effect])[] {
  return verbs.split(/\s+/).map((verb) => [verb, effect])
}

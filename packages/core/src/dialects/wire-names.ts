import { hashText } from '../json.ts'
import { changedName, toWireName } from '../names.ts'

/** Maps registered names to wire names and back, for one set of tools. */
export class WireNames {
  readonly #names: ReadonlySet<string>
  /** Of the names that are changed; most are not. */
  readonly #wire = new Map<string, string>()
  readonly #registered = new Map<string, string>()
  readonly #before: WireNames | undefined

  /** Names of `before` stay as they are: the set goes on from there. */
  constructor(names: Iterable<string>, before?: WireNames) {
    this.#before = before
    this.#names = new Set(names)
    for (const name of this.#names) if (before?.has(name) !== true) this.#add(name)
  }

  /** The names that are changed, each with its wire name. */
  get changed(): Iterable<readonly [name: string, wireName: string]> {
    return this.#wire
  }

  /** The wire name of a tool, whether or not it is in this set. */
  toWire(name: string): string {
    return this.#before?.has(name)
      ? this.#before.toWire(name)
      : (this.#wire.get(name) ?? (this.#names.has(name) ? name : toWireName(name)))
  }

  /** The registered name of a wire name; an unknown name is returned unchanged. */
  fromWire(wireName: string): string {
    return this.#registered.get(wireName) ?? this.#before?.fromWire(wireName) ?? wireName
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#before?.has(name) === true
  }

  hasWire(wireName: string): boolean {
    const isOwn = this.#names.has(wireName) && !this.#wire.has(wireName)
    return isOwn || this.#registered.has(wireName) || this.#before?.hasWire(wireName) === true
  }

  #add(name: string): void {
    let wireName = toWireName(name)
    if (wireName === name && this.#before?.hasWire(name) !== true) return
    // The hash is short and can be forged, so a second tool with the same wire name gets another hash.
    for (let claim = 2; this.hasWire(wireName); claim++)
      wireName = changedName(name, hashText(`${claim} ${name}`))
    this.#wire.set(name, wireName)
    this.#registered.set(wireName, name)
  }
}

const MAX_REMEMBERED = 10_000

/**
 * Maps changed names back for tools that are no longer on a surface. A wire name depends only on the registered name,
 * so this contains nothing about a conversation, only what cannot be computed backwards.
 */
export class WireNameMemory {
  readonly #registered = new Map<string, string>()

  add(wireName: string, name: string): void {
    if (wireName === name || this.#registered.get(wireName) === name) return
    this.#registered.set(wireName, name)
    const [oldest] = this.#registered.keys()
    if (this.#registered.size > MAX_REMEMBERED && oldest !== undefined) this.#registered.delete(oldest)
  }

  /** The registered name, or the wire name itself if it was not changed or is unknown. */
  nameOf(wireName: string): string {
    return this.#registered.get(wireName) ?? wireName
  }
}

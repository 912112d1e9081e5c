import { hashText } from '../json.ts'
import { changedName, toWireName } from '../names.ts'

/** Registered names and wire names, both ways, for one set of tools. */
export class WireNames {
  readonly #wire = new Map<string, string>()
  readonly #registered = new Map<string, string>()

  constructor(names: Iterable<string>) {
    for (const name of names) if (!this.#wire.has(name)) this.#add(name)
  }

  /** The wire name of a tool, of this set or not. */
  toWire(name: string): string {
    return this.#wire.get(name) ?? toWireName(name)
  }

  /** The registered name behind a wire name; a name that is not in this set is returned as it is. */
  fromWire(wireName: string): string {
    return this.#registered.get(wireName) ?? wireName
  }

  has(name: string): boolean {
    return this.#wire.has(name)
  }

  #add(name: string): void {
    let wireName = toWireName(name)
    // The hash is short and can be forged: within one set a second claim to a name gets another hash.
    for (let claim = 2; this.#registered.has(wireName); claim++)
      wireName = changedName(name, hashText(`${claim} ${name}`))
    this.#wire.set(name, wireName)
    this.#registered.set(wireName, name)
  }
}

const MAX_REMEMBERED = 10_000

/**
 * Maps changed names back, for tools that are no longer on a surface. A changed name depends only on the registered
 * one, so this holds nothing of a conversation: only what cannot be computed backwards.
 */
export class WireNameMemory {
  readonly #registered = new Map<string, string>()

  add(wireName: string, name: string): void {
    if (wireName === name || this.#registered.get(wireName) === name) return
    this.#registered.set(wireName, name)
    const [oldest] = this.#registered.keys()
    if (this.#registered.size > MAX_REMEMBERED && oldest !== undefined) this.#registered.delete(oldest)
  }

  /** The registered name; the wire name itself where it was not changed, or is not known. */
  nameOf(wireName: string): string {
    return this.#registered.get(wireName) ?? wireName
  }
}

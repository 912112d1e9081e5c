import { hashText } from '../json.ts'

/** What every provider accepts as a tool's name. */
const WIRE_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const MAX_LENGTH = 64
const HASH_DIGITS = 10
/** How a changed name ends. A registered name that ends like this is changed too, so that the two never meet. */
const CHANGED = /_[0-9a-f]{10}$/

/**
 * The name a provider sees: `[A-Za-z_][A-Za-z0-9_-]{0,63}`. A name that fits stays as it is; any other keeps what
 * fits of it and gains a short hash of the whole. It depends on the name alone, so it is the same after a restart.
 */
export function toWireName(name: string): string {
  return WIRE_NAME.test(name) && !CHANGED.test(name) ? name : changedName(name, hashText(name))
}

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

  /** The registered name behind a wire name; a name that is not of this set is returned as it is, to be explained. */
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
 * The way back from names that were changed, for tools that are on no surface any more. A changed name depends on the
 * registered one alone, so this is no memory of a conversation: it only keeps what cannot be computed backwards.
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

function changedName(name: string, hash: string): string {
  const kept = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, MAX_LENGTH - HASH_DIGITS - 1)
  const start = /^[A-Za-z_]/.test(kept) ? kept : `_${kept}`.slice(0, MAX_LENGTH - HASH_DIGITS - 1)
  return `${start}_${hash.slice(0, HASH_DIGITS)}`
}

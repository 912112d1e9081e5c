import type { ClientPlace } from './client-files.ts'
import type { MadeProfile } from './connect-client.ts'
import { type ConnectableClient, serversOfClient } from './connectable-clients.ts'
import type { ImportedServer } from './read-servers.ts'
import { ServersFile } from './servers-file.ts'

/** What one client sees of a gateway. */
export interface ClientServers {
  /** The servers of the config that it sees, by name. */
  readonly servers: readonly string[]
  /** The profile that shows just these; undefined if the client sees every server. */
  readonly profile?: string
  /** true: the config does not have the profile yet. */
  readonly isNew?: boolean
}

/**
 * Gives each client of a config the servers that it had in its own: with a profile in the config, if there are servers
 * that the client did not have. A client that had none of them sees all.
 */
export class ClientProfiles {
  readonly #file: ServersFile
  readonly #place: ClientPlace

  private constructor(file: ServersFile, place: ClientPlace) {
    this.#file = file
    this.#place = place
  }

  /** Throws `config-invalid` for a config that cannot be read. */
  static async open(config: string, place: ClientPlace): Promise<ClientProfiles> {
    return new ClientProfiles(await ServersFile.open(config), place)
  }

  /** The path of the config. */
  get config(): string {
    return this.#file.path
  }

  /** The servers of the config, by name. */
  get known(): ReadonlyMap<string, ImportedServer> {
    return this.#file.servers()
  }

  /** The names of the servers that are not disabled. */
  get all(): readonly string[] {
    return [...this.known].filter(([, { disabled }]) => !disabled).map(([name]) => name)
  }

  /** What a client sees now, or would see once it is connected. Throws `config-invalid` if its config cannot be read. */
  async of({ client, isConnected, profile }: ConnectableClient): Promise<ClientServers> {
    const { all } = this
    const own = await serversOfClient(client, this.#place, this.known)
    if (isConnected) {
      const shown = profile === undefined ? undefined : this.#file.profiles().get(profile)?.servers
      if (profile === undefined || shown === undefined) return { servers: all }
      return { servers: [...new Set([...shown, ...own])], profile }
    }
    if (own.length === 0 || all.every((name) => own.includes(name))) return { servers: all }
    return { servers: own, ...this.#profileFor(client, own) }
  }

  /** Writes the profile that a client uses into the config, once it is saved. Returns it if it is new. */
  keep({ servers, profile, isNew = false }: ClientServers): MadeProfile | undefined {
    if (profile === undefined) return undefined
    if (JSON.stringify(this.#file.profiles().get(profile)?.servers) !== JSON.stringify(servers))
      this.#file.setProfile(profile, servers)
    return isNew ? { config: this.config, name: profile } : undefined
  }

  /** Writes the config. */
  async save(): Promise<void> {
    await this.#file.save()
  }

  /** A profile of the client's name with just these servers, or a new one. */
  #profileFor(client: string, servers: readonly string[]): { profile: string; isNew: boolean } {
    const profiles = this.#file.profiles()
    for (let count = 1; ; count++) {
      const profile = count === 1 ? client : `${client}-${count}`
      const there = profiles.get(profile)
      if (there === undefined) return { profile, isNew: true }
      if (JSON.stringify(there) === JSON.stringify({ servers })) return { profile, isNew: false }
    }
  }
}

/**
 * Removes profiles that were made for clients, unless a connected client, a token or an OAuth scope uses them, or somebody
 * has added to them. A config that is gone or cannot be changed stays as it is.
 */
export async function removeMadeProfiles(
  profiles: readonly MadeProfile[],
  connected: readonly ConnectableClient[],
): Promise<void> {
  for (const { config, name } of profiles) {
    const file = await ServersFile.open(config).catch(() => undefined)
    const isUsed = connected.some(({ gateway, profile }) => profile === name && gateway !== undefined)
    if (!file?.profiles().has(name) || isUsed || file.isProfileInUse(name)) continue
    file.setProfile(name, undefined)
    await file.save()
  }
}
